//! An ingress request's body, validated field by field.
//!
//! Works on the JSON value, because each field has its own error and the error order is fixed.
//! Unknown keys are ignored; `null` is a value with the wrong type, not an absence.

use ars_agent::Role;
use ars_bot_ports::HistoryTurn;
use serde_json::{Map, Value};

use super::message::Address;

/// A body that is valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// Text, channel and thread.
    pub(super) address: Address,
    /// Earlier turns, oldest first.
    pub(super) history: Vec<HistoryTurn>,
    /// Whether to answer at the run's creation.
    pub(super) is_async: bool,
}

/// Parses a body. The error names the malformed field, never the value.
pub(super) fn parse(bytes: &[u8]) -> Result<Body, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| "the body must be valid JSON")?;
    let Value::Object(fields) = value else {
        return Err("the body must be a JSON object".into());
    };
    Ok(Body {
        address: Address::parse(&fields)?,
        history: history(&fields)?,
        is_async: is_async(&fields)?,
    })
}

fn history(fields: &Map<String, Value>) -> Result<Vec<HistoryTurn>, String> {
    match fields.get("history") {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries
            .iter()
            .enumerate()
            .map(|(at, entry)| turn(at, entry))
            .collect(),
        Some(_) => Err("history must be an array".into()),
    }
}

fn turn(at: usize, entry: &Value) -> Result<HistoryTurn, String> {
    let Value::Object(fields) = entry else {
        return Err(format!("history[{at}] must be an object"));
    };
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => {
            return Err(format!(
                "history[{at}].role must be \"user\" or \"assistant\""
            ));
        }
    };
    match fields.get("text") {
        Some(Value::String(text)) => Ok(HistoryTurn {
            role,
            text: text.clone(),
            attachments: Vec::new(),
        }),
        _ => Err(format!("history[{at}].text must be a string")),
    }
}

fn is_async(fields: &Map<String, Value>) -> Result<bool, String> {
    match fields.get("async") {
        None => Ok(false),
        Some(Value::Bool(is_async)) => Ok(*is_async),
        Some(_) => Err("async must be a boolean".into()),
    }
}

#[cfg(test)]
mod tests {
    use ars_types::{ChannelName, ThreadName};

    use super::*;

    #[test]
    fn first_fault_of_a_body_is_reported() {
        let body = "the body must be";
        let (role, turn_text) = (
            "history[0].role must be",
            "history[0].text must be a string",
        );
        for (json, expected) in [
            ("", format!("{body} valid JSON")),
            ("{", format!("{body} valid JSON")),
            ("{} {}", format!("{body} valid JSON")),
            ("\"text\"", format!("{body} a JSON object")),
            ("[]", format!("{body} a JSON object")),
            ("null", format!("{body} a JSON object")),
            ("{}", "text must be a non-blank string".into()),
            (r#"{"text":null}"#, "text must be a non-blank string".into()),
            (
                r#"{"text":7,"channel":7}"#,
                "text must be a non-blank string".into(),
            ),
            (
                r#"{"text":" \n\t"}"#,
                "text must be a non-blank string".into(),
            ),
            (
                r#"{"text":"x","channel":null,"thread":1}"#,
                "channel must be a string".into(),
            ),
            (
                r#"{"text":"x","thread":null,"history":1}"#,
                "thread must be a string".into(),
            ),
            (
                r#"{"text":"x","channel":"a:b","thread":""}"#,
                "channel must be 1 to 100 characters without `:`".into(),
            ),
            (
                r#"{"text":"x","channel":""}"#,
                "channel must be 1 to 100 characters without `:`".into(),
            ),
            (
                r#"{"text":"x","channel":"a","thread":""}"#,
                "thread must be 1 to 128 characters".into(),
            ),
            (
                r#"{"text":"x","history":null,"async":1}"#,
                "history must be an array".into(),
            ),
            (
                r#"{"text":"x","history":{}}"#,
                "history must be an array".into(),
            ),
            (
                r#"{"text":"x","history":[null]}"#,
                "history[0] must be an object".into(),
            ),
            (
                r#"{"text":"x","history":[[]]}"#,
                "history[0] must be an object".into(),
            ),
            (
                r#"{"text":"x","history":[{"text":"a"}]}"#,
                format!("{role} \"user\" or \"assistant\""),
            ),
            (
                r#"{"text":"x","history":[{"role":"User","text":"a"}]}"#,
                format!("{role} \"user\" or \"assistant\""),
            ),
            (
                r#"{"text":"x","history":[{"role":"user"}]}"#,
                turn_text.into(),
            ),
            (
                r#"{"text":"x","history":[{"role":"user","text":null}],"async":1}"#,
                turn_text.into(),
            ),
            (
                r#"{"text":"x","async":null}"#,
                "async must be a boolean".into(),
            ),
            (
                r#"{"text":"x","async":"true"}"#,
                "async must be a boolean".into(),
            ),
            (
                r#"{"text":"x","async":1}"#,
                "async must be a boolean".into(),
            ),
        ] {
            assert_eq!(parse(json.as_bytes()), Err(expected), "{json}");
        }
        assert!(parse(b"{\"text\":\"\xff\"}").is_err());
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_refusal_never_repeats_what_was_sent() {
        for json in [
            r#"{"text":"x","history":[{"role":"canary","text":""}]}"#,
            r#"{"text":"x","async":"canary"}"#,
            r#"{"text":"x","channel":["canary"]}"#,
            r#"{"text":"x","channel":"canary:"}"#,
            r#"{"canary"}"#,
        ] {
            assert!(
                !parse(json.as_bytes()).unwrap_err().contains("canary"),
                "{json}"
            );
        }
    }

    #[test]
    fn full_body_is_parsed_without_unknown_keys() {
        let json = r#"{"text":" hi ","channel":"c","thread":"t","async":true,"stranger":1,"history":[
            {"role":"user","text":"","extra":1},{"role":"assistant","text":"b"}]}"#;
        let history = vec![
            HistoryTurn {
                role: Role::User,
                text: String::new(),
                attachments: Vec::new(),
            },
            HistoryTurn {
                role: Role::Assistant,
                text: "b".into(),
                attachments: Vec::new(),
            },
        ];
        let (channel, thread) = (ChannelName::parse("c").ok(), ThreadName::parse("t").ok());
        let address = Address {
            text: " hi ".into(),
            channel,
            thread,
        };
        let expected = Body {
            address,
            history,
            is_async: true,
        };
        assert_eq!(parse(json.as_bytes()), Ok(expected));
        assert!(!parse(br#"{"text":"x","async":false}"#).unwrap().is_async);
    }
}
