//! The message with the buttons, and what is left of it after a press.
//!
//! The command is rich text, which Slack never reads as markup.

use serde_json::{Value, json};

use super::value::ConfirmValue;
use crate::{card::Frame, text::escape};

/// Action id of the button that runs the command.
pub const CONFIRM_ACTION: &str = "ars-confirm";
/// Action id of the button that drops it.
pub const CANCEL_ACTION: &str = "ars-confirm-cancel";
/// Maximum characters of the command and of its description together.
const SHOWN_MAX_CHARS: usize = 2_500;

/// How a confirmation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The requester confirmed, so the command runs.
    Confirmed,
    /// The requester cancelled, so it does not run.
    Cancelled,
    /// The buttons were too old.
    Expired,
    /// It was confirmed, and the process shut down before it began.
    NotStarted,
}

/// Returns the message that asks the requester, or `None` if the command is too long for the
/// buttons.
pub fn ask(command: &str, about: &str, value: &ConfirmValue) -> Option<Frame> {
    let button_value = value.to_text()?;
    let (command, about) = (visible(command), visible(about));
    let shown = json!({
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [
            {"type": "user", "user_id": value.user},
            text(", please confirm: "),
            {"type": "text", "text": command, "style": {"code": true}},
            text("\n"),
            text(&about),
        ]}],
    });
    let button = |action: &str, label: &str| {
        json!({
            "type": "button",
            "action_id": action,
            "value": button_value,
            "text": {"type": "plain_text", "text": label},
        })
    };
    let mut confirm = button(CONFIRM_ACTION, "Confirm");
    confirm["style"] = "danger".into();
    let buttons =
        json!({"type": "actions", "elements": [confirm, button(CANCEL_ACTION, "Cancel")]});
    Some(Frame {
        text: escape(&format!("Please confirm: {command}. {about}")),
        blocks: json!([shown, buttons]),
    })
}

/// Returns the message without its buttons, and with how it ended. `blocks` are those that Slack
/// returned.
pub fn decided(blocks: &Value, value: &ConfirmValue, decision: Decision) -> Frame {
    let mut kept = blocks.as_array().cloned().unwrap_or_default();
    kept.retain(|block| block["type"] == "rich_text");
    let (before, after) = match decision {
        Decision::Confirmed => ("Confirmed by ", "."),
        Decision::Cancelled => ("Cancelled by ", ". Nothing was changed."),
        Decision::Expired => (
            "Expired: not decided within 15 minutes by ",
            ". Unless an answer follows, nothing was changed. Send the command again.",
        ),
        Decision::NotStarted => (
            "Not run, because I was restarting when it was confirmed by ",
            ". Nothing was changed. Send the command again.",
        ),
    };
    let user = json!({"type": "user", "user_id": value.user});
    let line = json!({"type": "rich_text_section", "elements": [text(before), user, text(after)]});
    kept.push(json!({"type": "rich_text", "elements": [line]}));
    Frame {
        text: format!("{before}<@{}>{after}", escape(&value.user)),
        blocks: Value::Array(kept),
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns a text in a line without characters that hide or reorder it.
fn visible(text: &str) -> String {
    let shown = text.chars().map(|c| match c {
        c if c.is_control() || ars_types::is_invisible(c) => '\u{fffd}',
        c => c,
    });
    shown.take(SHOWN_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ts;

    fn value(text: &str) -> ConfirmValue {
        ConfirmValue {
            user: "U1".into(),
            ts: Ts::parse("2.1").unwrap(),
            thread: Ts::parse("1.1").unwrap(),
            text: text.into(),
        }
    }

    /// Hostile text stays text: outside of rich text it is escaped, and nothing hides in it.
    #[test]
    fn command_is_shown_literally() {
        let hostile = "repo offboard <!channel>&*a*\u{202e}\n`x` :eyes:";
        let frame = ask(hostile, "Removes <it>.", &value(hostile)).unwrap();
        let shown = "repo offboard <!channel>&*a*\u{fffd}\u{fffd}`x` :eyes:";
        assert_eq!(
            frame.blocks[0]["elements"][0]["elements"],
            json!([
                {"type": "user", "user_id": "U1"},
                {"type": "text", "text": ", please confirm: "},
                {"type": "text", "text": shown, "style": {"code": true}},
                {"type": "text", "text": "\n"},
                {"type": "text", "text": "Removes <it>."},
            ])
        );
        assert!(!frame.text.contains('<') && frame.text.contains("&lt;!channel&gt;&amp;"));
        let buttons = &frame.blocks[1]["elements"];
        let facts = [0, 1].map(|at| (&buttons[at]["action_id"], &buttons[at]["style"]));
        assert_eq!(
            facts,
            [
                (&json!("ars-confirm"), &json!("danger")),
                (&json!("ars-confirm-cancel"), &Value::Null),
            ]
        );
        for at in [0, 1] {
            let parsed = ConfirmValue::parse(buttons[at]["value"].as_str().unwrap());
            assert_eq!(parsed, Some(value(hostile)));
        }
        assert_eq!(ask("x", "y", &value(&"x".repeat(2_000))), None);
    }

    #[test]
    fn decided_message_has_no_buttons() {
        let value = value("config clear me");
        let asked = ask("config clear me", "Clears.", &value).unwrap();
        for (decision, words) in [
            (Decision::Confirmed, "Confirmed by <@U1>."),
            (Decision::Cancelled, "Cancelled by <@U1>. Nothing"),
            (
                Decision::Expired,
                "Expired: not decided within 15 minutes by <@U1>. Unless",
            ),
            (Decision::NotStarted, "Send the command again."),
        ] {
            let frame = decided(&asked.blocks, &value, decision);
            assert!(frame.text.contains(words), "{}", frame.text);
            assert_eq!(frame.blocks[0], asked.blocks[0]);
            let kinds = frame.blocks.as_array().unwrap().iter();
            assert!(kinds.clone().all(|block| block["type"] == "rich_text"));
            assert_eq!(kinds.len(), 2);
        }
        for odd in [json!(null), json!({}), json!([1, {"type": "actions"}])] {
            let frame = decided(&odd, &value, Decision::Confirmed);
            assert_eq!(frame.blocks.as_array().unwrap().len(), 1, "{odd}");
        }
    }
}
