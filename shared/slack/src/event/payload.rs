//! The events of the Events API that the bot reads.
//!
//! Not here: their frames (`envelope`), and their effect (`trigger`).

use serde_json::Value;

use super::message::{Message, string, timestamp};
use crate::Ts;

/// An event of the Events API.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A message was posted.
    Message {
        /// Which subscription delivered it.
        kind: MessageKind,
        /// The message.
        message: Box<Message>,
    },
    /// The author of a message changed its text.
    Edited {
        /// The message with the new text.
        message: Box<Message>,
        /// When it was edited, which orders the edits of a message.
        at: Ts,
    },
    /// A message was deleted.
    Deleted {
        /// Channel id.
        channel: String,
        /// The message.
        ts: Ts,
    },
    /// Any other event, or one that cannot be read.
    Other,
}

/// The subscription that delivers a message. A mention in a channel arrives through both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// `message`.
    Message,
    /// `app_mention`.
    Mention,
}

impl Event {
    /// Reads the payload of an events envelope.
    pub fn parse(payload: &Value) -> Self {
        let event = &payload["event"];
        Self::read(event, payload["is_ext_shared_channel"] == true).unwrap_or(Self::Other)
    }

    fn read(event: &Value, is_ext_shared: bool) -> Option<Self> {
        let channel = string(event, "channel")?;
        let kind = match event["type"].as_str()? {
            "message" => MessageKind::Message,
            "app_mention" => MessageKind::Mention,
            _ => return None,
        };
        match event["subtype"].as_str() {
            Some("message_changed") => Self::changed(channel, event),
            Some("message_deleted") => Some(Self::Deleted {
                ts: timestamp(event, "deleted_ts")?,
                channel,
            }),
            _ => {
                let mut message = Message::read(&channel, event)?;
                message.is_ext_shared = is_ext_shared;
                Some(Self::Message {
                    kind,
                    message: Box::new(message),
                })
            }
        }
    }

    fn changed(channel: String, event: &Value) -> Option<Self> {
        let entry = &event["message"];
        let ts = timestamp(entry, "ts")?;
        // A deleted parent stays as a placeholder while it has replies.
        if entry["subtype"] == "tombstone" {
            return Some(Self::Deleted { channel, ts });
        }
        let message = Message::read(&channel, entry)?;
        let is_by_author =
            message.user.is_some() && message.user == string(&entry["edited"], "user");
        // Previews and detected languages are announced as changes too.
        let is_same = event["previous_message"]["text"] == entry["text"];
        if !is_by_author || is_same || message.is_from_bot() {
            return None;
        }
        Some(Self::Edited {
            at: message.edited?,
            message: Box::new(message),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ts(text: &str) -> Ts {
        Ts::parse(text).unwrap()
    }

    #[test]
    fn deletions_are_read() {
        let tombstone = json!({"event": {
            "type": "message", "subtype": "message_changed", "channel": "C1", "ts": "9.9",
            "message": {"ts": "1.1", "subtype": "tombstone", "text": "This message was deleted."},
        }});
        let deleted = json!({"event": {
            "type": "message", "subtype": "message_deleted", "channel": "C1", "ts": "9.9", "deleted_ts": "1.1",
        }});
        let gone = Event::Deleted {
            channel: "C1".into(),
            ts: ts("1.1"),
        };
        assert_eq!(Event::parse(&tombstone), gone);
        assert_eq!(Event::parse(&deleted), gone);
    }

    /// The documentation shows changes without the message before.
    #[test]
    fn only_edits_by_the_author_count() {
        let message = json!({
            "ts": "1.1", "thread_ts": "1.0", "user": "U1", "text": "new", "edited": {"user": "U1", "ts": "2.0"},
        });
        let with = |name: &str, value: serde_json::Value| {
            let mut message = message.clone();
            message[name] = value;
            message
        };
        let before = json!({"user": "U1", "ts": "1.1", "text": "old"});
        for (message, previous, is_edit) in [
            (message.clone(), before.clone(), true),
            (message.clone(), json!(null), true),
            (message.clone(), json!(["old"]), true),
            (message.clone(), json!({"text": "new"}), false),
            (with("edited", json!(null)), before.clone(), false),
            (
                with("edited", json!({"user": "U2", "ts": "2.0"})),
                before.clone(),
                false,
            ),
            (
                with("edited", json!({"user": "U1", "ts": 2})),
                before.clone(),
                false,
            ),
            (with("user", json!(null)), before.clone(), false),
            (with("bot_id", json!("B2")), before.clone(), false),
            (with("subtype", json!("bot_message")), before.clone(), false),
            (with("ts", json!({})), before, false),
        ] {
            let payload = json!({"event": {
                "type": "message", "subtype": "message_changed", "channel": "C1", "ts": "9.9", "hidden": true,
                "message": message, "previous_message": previous,
            }});
            match Event::parse(&payload) {
                Event::Edited { message, at } => {
                    let read = (message.ts, message.thread(), message.text.as_str(), at);
                    assert_eq!(read, (ts("1.1"), ts("1.0"), "new", ts("2.0")));
                    assert!(is_edit, "{payload}");
                }
                event => assert_eq!((event, is_edit), (Event::Other, false), "{payload}"),
            }
        }
    }

    #[test]
    fn message_knows_its_subscription_and_sharing() {
        for (name, kind) in [
            ("message", MessageKind::Message),
            ("app_mention", MessageKind::Mention),
        ] {
            let payload = json!({
                "is_ext_shared_channel": true,
                "event": {"type": name, "channel": "C1", "user": "U1", "ts": "1.1", "text": "x"},
            });
            let Event::Message {
                kind: read,
                message,
            } = Event::parse(&payload)
            else {
                panic!("{payload}");
            };
            assert_eq!(
                (read, message.is_ext_shared, message.ts),
                (kind, true, ts("1.1"))
            );
        }
    }

    #[test]
    fn anything_else_is_other() {
        for event in [
            json!(null),
            json!({"type": "reaction_added", "channel": "C1", "ts": "1.1"}),
            json!({"type": "message", "ts": "1.1"}),
            json!({"type": "message", "channel": {"id": "C1"}, "ts": "1.1"}),
            json!({"type": "message", "channel": "C1"}),
            json!({"type": "message", "channel": "C1", "subtype": "message_deleted", "ts": "1.1"}),
            json!({"type": "message", "channel": "C1", "subtype": "message_changed", "ts": "1.1"}),
        ] {
            assert_eq!(
                Event::parse(&json!({"event": event})),
                Event::Other,
                "{event}"
            );
        }
        assert_eq!(Event::parse(&json!([])), Event::Other);
    }
}
