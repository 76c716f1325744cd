//! A request's message, for each ingress.

use ars_auth::{Actor, Ingress, TokenEntry, TokenMap};
use ars_bot_ports::{Choices, IncomingMessage};
use ars_events::InputSource;
use ars_types::{ChannelName, InvalidName, ThreadKey, ThreadName, UnixMillis};
use serde_json::{Map, Value};

/// Fields shared by an `/ingress` body and the `dispatch` tool's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The request text, untrimmed.
    pub(crate) text: String,
    /// The requested channel. A pinned channel overrides it.
    pub(crate) channel: Option<ChannelName>,
    /// The conversation's thread, if named.
    pub(crate) thread: Option<ThreadName>,
}

impl Address {
    /// Parses the fields. The error names the first malformed field, never the value.
    pub(crate) fn parse(fields: &Map<String, Value>) -> Result<Self, String> {
        Ok(Self {
            text: text(fields)?,
            channel: optional_name(fields, "channel", |name| ChannelName::parse(name))?,
            thread: optional_name(fields, "thread", |name| ThreadName::parse(name))?,
        })
    }
}

/// The problem with a channel that another token pins.
const PINNED: &str =
    "channel is closed to this token, because another token pins it; name another channel";

impl Address {
    /// Checks that a token without a pinned channel names none that another token pins.
    pub(crate) fn check_open(&self, entry: &TokenEntry, tokens: &TokenMap) -> Result<(), String> {
        let channel = self.channel.clone().unwrap_or_default();
        let is_closed = entry.channel.is_none() && tokens.pins(&channel);
        if is_closed {
            Err(PINNED.to_owned())
        } else {
            Ok(())
        }
    }
}

fn text(fields: &Map<String, Value>) -> Result<String, String> {
    match fields.get("text") {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        _ => Err("text must be a non-blank string".into()),
    }
}

fn optional_name<T>(
    fields: &Map<String, Value>,
    name: &str,
    parse: fn(&str) -> Result<T, InvalidName>,
) -> Result<Option<T>, String> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => parse(text).map(Some).map_err(|error| error.to_string()),
        Some(_) => Err(format!("{name} must be a string")),
    }
}

/// Returns a request's message. A token acts only as its own subject and in its pinned channel.
pub(crate) fn message(
    ingress: Ingress,
    entry: &TokenEntry,
    address: Address,
    received_at: UnixMillis,
) -> IncomingMessage {
    let Address {
        text,
        channel,
        thread,
    } = address;
    let platform = ingress.platform();
    let channel = entry.channel.clone().or(channel).unwrap_or_default();
    let thread_key = ThreadKey::from_names(platform, &channel, &thread.unwrap_or_default());
    let actor = Actor::service(ingress, entry);
    let channel_id = platform.id(&channel);
    let source = InputSource {
        url: None,
        channel: Some(channel_id.clone()),
        user: Some(actor.id.clone()),
    };
    IncomingMessage {
        actor,
        channel_id,
        thread_key,
        visibility: platform.visibility(),
        text,
        attachments: Vec::new(),
        received_at,
        choices: Choices::default(),
        source: Some(source),
        idempotency: None,
        is_confirmed: false,
    }
}

#[cfg(test)]
mod tests {
    use ars_auth::TokenDigest;
    use ars_types::Visibility;

    use super::*;

    fn sent(
        ingress: Ingress,
        pinned: Option<&str>,
        channel: Option<&str>,
        thread: Option<&str>,
    ) -> IncomingMessage {
        let entry = TokenEntry {
            subject: "ann".into(),
            channel: pinned.map(channel_name),
            scopes: vec!["dispatch".into()],
            digest: TokenDigest::default(),
        };
        let thread = thread.map(|name| ThreadName::parse(name).unwrap());
        let address = Address {
            text: " hi ".into(),
            channel: channel.map(channel_name),
            thread,
        };
        message(ingress, &entry, address, 5)
    }

    fn channel_name(name: &str) -> ChannelName {
        ChannelName::parse(name).unwrap()
    }

    #[test]
    fn pinned_channel_overrides_the_requested_one() {
        for (pinned, channel, thread, channel_id, thread_key) in [
            (None, None, None, "http:default", "http:default:default"),
            (None, Some("ops"), None, "http:ops", "http:ops:default"),
            (Some("ci"), Some("ops"), Some("t1"), "http:ci", "http:ci:t1"),
            (Some("ci"), None, None, "http:ci", "http:ci:default"),
        ] {
            let message = sent(Ingress::Http, pinned, channel, thread);
            assert_eq!(message.actor.id, "http:ann");
            assert_eq!(
                (message.channel_id.as_str(), message.thread_key.as_str()),
                (channel_id, thread_key)
            );
            assert_eq!(
                (message.visibility, message.text.as_str()),
                (Visibility::Machine, " hi ")
            );
            assert_eq!(message.received_at, 5);
        }
    }

    #[test]
    fn pinned_channel_is_closed_to_other_tokens() {
        let tokens = r#"{"a":{"subject":"ann"},"b":{"subject":"bo","channel":"ci"}}"#;
        let tokens = TokenMap::parse(Some(tokens)).map;
        let open = |token: &str, channel: Option<&str>| {
            let channel = channel.map(channel_name);
            let address = Address {
                text: "hi".into(),
                channel,
                thread: None,
            };
            address
                .check_open(tokens.authenticate(token).unwrap(), &tokens)
                .is_ok()
        };
        for (token, channel, expected) in [
            ("a", None, true),
            ("a", Some("ops"), true),
            ("a", Some("ci"), false),
            ("b", Some("ci"), true),
            ("b", Some("ops"), true),
        ] {
            assert_eq!(open(token, channel), expected, "{token} {channel:?}");
        }
    }

    #[test]
    fn each_ingress_has_its_own_names() {
        let message = sent(Ingress::Mcp, None, Some("ops"), Some("t1"));
        assert_eq!(
            (message.actor.id.as_str(), message.channel_id.as_str()),
            ("mcp:ann", "mcp:ops")
        );
        assert_eq!(
            (message.thread_key.as_str(), message.visibility),
            ("mcp:ops:t1", Visibility::Machine)
        );
    }
}
