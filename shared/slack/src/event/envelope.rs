//! The frames of a Socket Mode connection.
//!
//! Not here: the payloads (`payload`, `press`).

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

/// A frame that Slack sends over the socket.
#[derive(Debug, Clone, PartialEq)]
pub enum Envelope {
    /// The connection is ready.
    Hello,
    /// Slack closes this connection soon.
    Disconnect {
        /// `warning`, `refresh_requested`, `link_disabled`, or a later addition.
        reason: String,
    },
    /// An event of the Events API.
    EventsApi {
        /// The id to acknowledge.
        envelope_id: String,
        /// Number of the retry, 0 for the first delivery.
        retry_attempt: u64,
        /// The outer event.
        payload: Value,
    },
    /// A person used a button.
    Interactive {
        /// The id to acknowledge.
        envelope_id: String,
        /// The interaction.
        payload: Value,
    },
    /// Anything else. It is acknowledged if it has an id, so that Slack does not repeat it.
    Unknown {
        /// The id to acknowledge.
        envelope_id: Option<String>,
    },
}

impl Envelope {
    /// Parses a text frame. A frame that cannot be read is [`Envelope::Unknown`].
    pub fn parse(text: &str) -> Self {
        // Raw values keep the id readable if the payload is nested too deeply.
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
        let envelope_id: Option<String> = field(&fields, "envelope_id");
        let kind: Option<String> = field(&fields, "type");
        let payload: Option<Value> = field(&fields, "payload");
        match (kind.as_deref(), envelope_id, payload) {
            (Some("hello"), _, _) => Self::Hello,
            (Some("disconnect"), _, _) => Self::Disconnect {
                reason: field(&fields, "reason").unwrap_or_default(),
            },
            (Some("events_api"), Some(envelope_id), Some(payload)) => Self::EventsApi {
                envelope_id,
                retry_attempt: field(&fields, "retry_attempt").unwrap_or(0),
                payload,
            },
            (Some("interactive"), Some(envelope_id), Some(payload)) => Self::Interactive {
                envelope_id,
                payload,
            },
            (_, envelope_id, _) => Self::Unknown { envelope_id },
        }
    }

    /// Returns the id to acknowledge.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Hello | Self::Disconnect { .. } => None,
            Self::EventsApi { envelope_id, .. } | Self::Interactive { envelope_id, .. } => {
                Some(envelope_id)
            }
            Self::Unknown { envelope_id } => envelope_id.as_deref(),
        }
    }
}

fn field<T: DeserializeOwned>(fields: &BTreeMap<String, &RawValue>, name: &str) -> Option<T> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn unknown(id: Option<&str>) -> Envelope {
        Envelope::Unknown {
            envelope_id: id.map(str::to_owned),
        }
    }

    #[test]
    fn frames_are_read_leniently() {
        let table = [
            (
                json!({"type": "hello", "num_connections": 1, "envelope_id": 7}),
                Envelope::Hello,
            ),
            (
                json!({"type": "disconnect", "reason": "warning", "debug_info": {}}),
                Envelope::Disconnect {
                    reason: "warning".into(),
                },
            ),
            (
                json!({"type": "disconnect", "reason": 1}),
                Envelope::Disconnect {
                    reason: String::new(),
                },
            ),
            (
                json!({"type": "events_api", "envelope_id": "e", "retry_attempt": 2, "payload": {"a": 1}}),
                Envelope::EventsApi {
                    envelope_id: "e".into(),
                    retry_attempt: 2,
                    payload: json!({"a": 1}),
                },
            ),
            (
                json!({"type": "events_api", "envelope_id": "e", "retry_attempt": "x", "payload": null}),
                Envelope::EventsApi {
                    envelope_id: "e".into(),
                    retry_attempt: 0,
                    payload: json!(null),
                },
            ),
            (
                json!({"type": "interactive", "envelope_id": "e", "payload": {}}),
                Envelope::Interactive {
                    envelope_id: "e".into(),
                    payload: json!({}),
                },
            ),
            (json!({"type": "events_api", "payload": {}}), unknown(None)),
            (
                json!({"type": "events_api", "envelope_id": "e"}),
                unknown(Some("e")),
            ),
            (
                json!({"type": "slash_commands", "envelope_id": "e"}),
                unknown(Some("e")),
            ),
            (json!({"envelope_id": "e"}), unknown(Some("e"))),
            (json!([1]), unknown(None)),
        ];
        for (frame, envelope) in table {
            assert_eq!(Envelope::parse(&frame.to_string()), envelope, "{frame}");
        }
        assert_eq!(Envelope::parse("not JSON"), unknown(None));
    }

    #[test]
    fn deeply_nested_payload_is_acknowledged() {
        let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
        let frame = format!(r#"{{"type":"events_api","payload":{deep},"envelope_id":"e"}}"#);
        assert_eq!(Envelope::parse(&frame).id(), Some("e"));
    }

    proptest! {
        #[test]
        fn any_text_is_an_envelope(text in "\\PC*|(\\{\"(type|payload)\":.{0,20}\\})") {
            Envelope::parse(&text);
        }
    }
}
