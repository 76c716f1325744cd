//! A follow-up in the ledger's inbox, enough for a new request if the sender's process dies.

use std::collections::BTreeSet;

use ars_auth::{Actor, Grants, Set, TokenDigest, TokenMap};
use ars_bot_ports::IncomingMessage;
use ars_events::with_attachment_count;
use ars_types::UnixMillis;
use ars_wire::idempotency::IdempotencyKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attachments::{self, StoredAttachment};

/// Text of a note that deletes a message.
const DELETED: &str = "(An earlier message was deleted.)";

/// A follow-up in the ledger's inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The text without directives.
    pub text: String,
    /// Files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<StoredAttachment>,
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
    /// The message's identity on its platform. Absent without one, and in notes from earlier
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// Set if this is no message but a change of the one with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// What happened to a message before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// The author replaced its text, by that of the note.
    Edited,
    /// It was deleted.
    Deleted,
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
            attachments: attachments::stored(&message.attachments),
            user_id: message.actor.id.clone(),
            received_at: message.received_at,
            delivery: Some(uuid::Uuid::new_v4().to_string()),
            grants: Some(Vouched::from_grants(&message.actor.grants)),
            token: message.actor.token.clone(),
            key: message.idempotency.clone(),
            change: None,
        }
    }

    /// Makes the note that edits the message with this key as its author, or deletes it.
    pub fn amending(key: &IdempotencyKey, edit: Option<(&str, &str)>, now: UnixMillis) -> Self {
        let (change, (user_id, text)) = match edit {
            Some(edit) => (Change::Edited, edit),
            // A release without changes reads it as a message.
            None => (Change::Deleted, ("", DELETED)),
        };
        Self {
            text: text.to_owned(),
            attachments: Vec::new(),
            user_id: user_id.to_owned(),
            received_at: now,
            delivery: Some(uuid::Uuid::new_v4().to_string()),
            grants: None,
            token: None,
            key: Some(key.clone()),
            change: Some(change),
        }
    }

    /// Returns the text with the number of files, for people.
    pub fn quoted(&self) -> String {
        with_attachment_count(&self.text, self.attachments.len())
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
            attachments: Vec::new(),
            user_id: "http:ann".into(),
            received_at: 1,
            delivery: Some("d".into()),
            grants: Some(Vouched::from_grants(&grants)),
            token: None,
            key: None,
            change: None,
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
