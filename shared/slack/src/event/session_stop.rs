//! The platform's stop button, which Slack shows while an agent works in a thread.
//!
//! Not here: the button on a card (`press`).

use serde_json::Value;

use super::message::{string, timestamp};
use crate::Ts;

/// A thread's work that a person stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStop {
    /// User id.
    pub user: String,
    /// Channel id.
    pub channel: String,
    /// The thread.
    pub thread_ts: Ts,
    /// The streams in it that the platform ended.
    pub streams: Vec<Ts>,
}

impl SessionStop {
    /// Reads an events envelope's payload. Returns `None` for other events.
    pub fn parse(payload: &Value) -> Option<Self> {
        let event = &payload["event"];
        if event["type"] != "agent_session_stopped" {
            return None;
        }
        let streams = event["streaming_message_ts"].as_array();
        Some(Self {
            user: string(event, "user")?,
            channel: string(event, "channel")?,
            thread_ts: timestamp(event, "thread_ts")?,
            streams: streams
                .into_iter()
                .flatten()
                .filter_map(|ts| Ts::parse(ts.as_str()?))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stop_of_a_session_is_read() {
        let event = json!({
            "type": "agent_session_stopped", "user": "U1", "channel": "C1", "thread_ts": "1.1", "event_ts": "3.1",
            "streaming_message_ts": ["2.1", 3, "x"],
        });
        let stop = SessionStop {
            user: "U1".into(),
            channel: "C1".into(),
            thread_ts: Ts::parse("1.1").unwrap(),
            streams: vec![Ts::parse("2.1").unwrap()],
        };
        assert_eq!(SessionStop::parse(&json!({"event": event})), Some(stop));
        for (name, value) in [
            ("type", json!("message")),
            ("user", json!(1)),
            ("thread_ts", json!(null)),
        ] {
            let mut other = event.clone();
            other[name] = value;
            assert_eq!(SessionStop::parse(&json!({"event": other})), None, "{name}");
        }
        assert_eq!(SessionStop::parse(&json!(null)), None);
    }
}
