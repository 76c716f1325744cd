//! Converts turns to messages, for both vendors' encoders.

use ars_agent::{Part, Role, Turn};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// A message in a request.
#[derive(Debug, PartialEq)]
pub(super) struct Message<'a> {
    /// Who wrote the message.
    pub(super) role: Role,
    /// The parts. In a user's message, tool results precede other parts, as every vendor requires.
    pub(super) parts: Vec<&'a Part>,
}

/// Merges adjacent turns by the same author and omits blank text.
///
/// Some vendors reject two messages by the same author in a row, and local models' chat templates
/// fail on them. Anthropic rejects blank text.
pub(super) fn messages(turns: &[Turn]) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for turn in turns {
        let parts = turn.parts.iter().filter(|part| !is_blank(part));
        match messages.last_mut() {
            Some(last) if last.role == turn.role => last.parts.extend(parts),
            _ => messages.push(Message {
                role: turn.role,
                parts: parts.collect(),
            }),
        }
    }
    for message in &mut messages {
        message.parts.sort_by_key(|part| {
            message.role == Role::User && !matches!(part, Part::ToolResult { .. })
        });
    }
    messages
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text { text, .. } if text.trim().is_empty())
}

/// Returns a tool call's arguments as an object.
///
/// Vendors reject other arguments, also malformed arguments that their own model produced.
pub(super) fn object(input: &Value) -> Value {
    if input.is_object() {
        input.clone()
    } else {
        json!({"invalid_arguments": input})
    }
}

/// Returns the placeholder for a file that the vendor's API does not accept.
pub(super) fn omitted(media_type: &str, name: Option<&str>) -> String {
    let name = name.unwrap_or("unnamed");
    format!("[file {name} ({media_type}) left out: this model's API does not accept it]")
}

/// Returns a text document's text, or `None` for another document and for a blank one.
pub(super) fn text_of(media_type: &str, data: &str) -> Option<String> {
    if !media_type.starts_with("text/") {
        return None;
    }
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use ars_agent::ToolContent;

    use super::*;

    #[test]
    fn neighbouring_turns_become_one_message() {
        let result = Part::ToolResult {
            call_id: "c".into(),
            ok: true,
            content: vec![ToolContent::Text { text: "out".into() }],
        };
        let turns = [
            Turn::text(Role::User, "a"),
            Turn {
                role: Role::User,
                parts: vec![Part::text(" \n"), result.clone()],
            },
            Turn::text(Role::Assistant, "b"),
        ];
        let joined = messages(&turns);
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].parts, [&result, &Part::text("a")]);
    }
}
