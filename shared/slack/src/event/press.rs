//! A pressed button.
//!
//! Not here: the buttons (`card`).

use serde_json::Value;

use super::message::{Message, string, timestamp};
use crate::Ts;

/// A button that a person pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct Press {
    /// User id.
    pub user: String,
    /// The user's team, which differs from the bot's in a shared channel.
    pub team: Option<String>,
    /// Channel id.
    pub channel: String,
    /// The message with the button, if the platform included it.
    pub message: Option<Message>,
    /// The message's id.
    pub message_ts: Ts,
    /// The thread.
    pub thread_ts: Option<Ts>,
    /// Which button.
    pub action_id: String,
    /// The button's value, or empty.
    pub value: String,
}

impl Press {
    /// Reads an interaction. Returns `None` unless it is a button in a message.
    pub fn parse(payload: &Value) -> Option<Self> {
        if payload["type"] != "block_actions" {
            return None;
        }
        let (container, message) = (&payload["container"], &payload["message"]);
        let action = payload["actions"].as_array()?.first()?;
        let channel = string(&payload["channel"], "id");
        let channel = channel.or_else(|| string(container, "channel_id"))?;
        Some(Self {
            user: string(&payload["user"], "id")?,
            team: string(&payload["user"], "team_id"),
            message: Message::read(&channel, message),
            channel,
            message_ts: timestamp(message, "ts").or_else(|| timestamp(container, "message_ts"))?,
            thread_ts: timestamp(message, "thread_ts")
                .or_else(|| timestamp(container, "thread_ts")),
            action_id: string(action, "action_id")?,
            value: string(action, "value").unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn button_in_a_message_is_read() {
        let actions =
            json!([{"action_id": "ars-stop", "block_id": "b", "value": "r1", "type": "button"}]);
        let full = json!({
            "type": "block_actions", "user": {"id": "U1", "team_id": "T1"}, "channel": {"id": "C1"},
            "message": {"ts": "2.1", "thread_ts": "1.1", "user": "UB"}, "actions": actions,
        });
        let container = json!({
            "type": "block_actions", "user": {"id": "U1", "team_id": "T1"}, "actions": actions,
            "container": {"channel_id": "C1", "message_ts": "2.1", "thread_ts": "1.1"},
        });
        let press = Press {
            user: "U1".into(),
            team: Some("T1".into()),
            channel: "C1".into(),
            message: None,
            message_ts: Ts::parse("2.1").unwrap(),
            thread_ts: Ts::parse("1.1"),
            action_id: "ars-stop".into(),
            value: "r1".into(),
        };
        assert_eq!(Press::parse(&container), Some(press.clone()));
        let message = Message::read("C1", &full["message"]);
        assert!(message.is_some());
        assert_eq!(Press::parse(&full), Some(Press { message, ..press }));
    }

    #[test]
    fn other_interactions_are_no_press() {
        let actions = json!([{"action_id": "a"}]);
        for payload in [
            json!(null),
            json!({"type": "view_submission", "user": {"id": "U1"}}),
            json!({"type": "block_actions", "user": {"id": "U1"}, "channel": {"id": "C1"}, "actions": actions}),
            json!({"type": "block_actions", "user": {"id": "U1"}, "channel": {"id": "C1"}, "message": {"ts": "1.1"},
                "actions": []}),
        ] {
            assert_eq!(Press::parse(&payload), None, "{payload}");
        }
    }
}
