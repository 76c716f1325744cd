//! A follow-up in the ledger's inbox, enough for a new request if the sender's process dies.

use std::collections::BTreeSet;

use ars_auth::{Actor, Grants, Set, TokenDigest, TokenMap};
use ars_bot_ports::IncomingMessage;
use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A follow-up in the ledger's inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The text without directives.
    pub text: String,
    /// Namespaced id of the sender.
    pub user_id: String,
    /// When it was accepted, 0 when unknown.
    #[serde(default)]
    pub received_at: UnixMillis,
    /// Delivery id, which all copies share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// The grants that the sender's channel vouched for.
    /// Without them the message cannot run in the sender's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vouched>,
    /// The sender's ingress token digest. Absent for other senders, and in notes from earlier
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
}

/// Why a note cannot run in the sender's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderFault {
    /// The note has no grants.
    Unknown,
    /// The sender's ingress token is not configured any more, or may no longer start runs in this channel.
    TokenRemoved,
}

/// Grants stored with a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vouched {
    actions: Axis,
    channels: Axis,
    repos: Axis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Axis {
    All,
    Only(BTreeSet<String>),
}

impl Note {
    /// Makes a message's note with this text. Create a note once per message, because copies share
    /// the delivery id.
    pub fn from_message(message: &IncomingMessage, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            user_id: message.actor.id.clone(),
            received_at: message.received_at,
            delivery: Some(uuid::Uuid::new_v4().to_string()),
            grants: Some(Vouched::from_grants(&message.actor.grants)),
            token: message.actor.token.clone(),
        }
    }

    /// Returns the sender in this channel. It has the ingress token's present grants, else the
    /// vouched ones.
    ///
    /// # Errors
    /// The grants are unknown, or the token is gone.
    pub fn sender(&self, tokens: Option<&TokenMap>, channel: &str) -> Result<Actor, SenderFault> {
        if let (Some(tokens), Some(digest)) = (tokens, &self.token) {
            return tokens
                .sender_now(&self.user_id, digest, channel)
                .ok_or(SenderFault::TokenRemoved);
        }
        let grants = self.grants.as_ref().ok_or(SenderFault::Unknown)?.grants();
        Ok(Actor {
            token: self.token.clone(),
            ..Actor::new(self.user_id.clone(), grants)
        })
    }

    /// Converts the note to the inbox's form.
    pub fn message(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(message)) => message,
            // Texts, a number and sets of texts always serialize.
            _ => Map::new(),
        }
    }

    /// Parses the inbox's form. Returns `None` without a text.
    pub fn read(message: Map<String, Value>) -> Option<Self> {
        serde_json::from_value(Value::Object(message)).ok()
    }
}

impl Vouched {
    fn from_grants(grants: &Grants) -> Self {
        let axis = |set: &Set| match set {
            Set::All => Axis::All,
            Set::Only(items) => Axis::Only(items.iter().cloned().collect()),
        };
        Self {
            actions: axis(&grants.actions),
            channels: axis(&grants.channels),
            repos: axis(&grants.repos),
        }
    }

    fn grants(&self) -> Grants {
        let set = |axis: &Axis| match axis {
            Axis::All => Set::All,
            Axis::Only(items) => Set::Only(items.iter().cloned().collect()),
        };
        Grants {
            actions: set(&self.actions),
            channels: set(&self.channels),
            repos: set(&self.repos),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(message: &Value) -> Note {
        Note::read(message.as_object().unwrap().clone()).unwrap()
    }

    #[test]
    fn sender_has_its_vouched_grants() {
        let grants = Grants {
            actions: Set::only(&["dispatch"]),
            channels: Set::All,
            repos: Set::Only(Default::default()),
        };
        let note = Note {
            text: "x".into(),
            user_id: "http:ann".into(),
            received_at: 1,
            delivery: Some("d".into()),
            grants: Some(Vouched::from_grants(&grants)),
            token: None,
        };
        let back = read(&Value::Object(note.message()));
        assert_eq!(back, note);
        let (tokens, channel) = (TokenMap::default(), "http:default");
        for tokens in [None, Some(&tokens)] {
            assert_eq!(
                back.sender(tokens, channel),
                Ok(Actor::new("http:ann", grants.clone()))
            );
        }
        let unknown = read(&json!({ "text": "x", "userId": "http:ann" }));
        assert_eq!(unknown.sender(None, channel), Err(SenderFault::Unknown));
        assert!(Note::read(Map::new()).is_none());
    }
}
