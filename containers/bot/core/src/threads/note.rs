//! What the ledger's inbox keeps of a follow-up: enough to say it to the run, once, and to make it a request of its own
//! when no run reads it and its sender's process is gone (bot supplement section 13).

use std::collections::BTreeSet;

use ars_auth::{Actor, Grants, Set};
use ars_bot_ports::IncomingMessage;
use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the ledger's inbox keeps of a follow-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The text, without its directives.
    pub text: String,
    /// Who sent it.
    pub user_id: String,
    /// When it was accepted; 0 when unknown.
    #[serde(default)]
    pub received_at: UnixMillis,
    /// Its own mark: a copy that comes another way, or that was left twice, has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// What the sender's channel vouched for; without it nobody may run it in the sender's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vouched>,
}

/// Grants, as they are stored.
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
    /// Of a message that is to be passed on with this text. One note per message: its copies are known by their mark.
    pub fn of(message: &IncomingMessage, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            user_id: message.actor.id.clone(),
            received_at: message.received_at,
            delivery: Some(uuid::Uuid::new_v4().to_string()),
            grants: Some(Vouched::of(&message.actor.grants)),
        }
    }

    /// Its sender, as far as may be acted for it.
    pub fn sender(&self) -> Option<Actor> {
        self.grants.as_ref().map(|grants| Actor::new(self.user_id.clone(), grants.grants()))
    }

    /// As the inbox keeps it.
    pub fn message(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(message)) => message,
            // Texts, a number and sets of texts always have a JSON form.
            _ => Map::new(),
        }
    }

    /// What an inbox kept; nothing of a message without text.
    pub fn read(message: Map<String, Value>) -> Option<Self> {
        serde_json::from_value(Value::Object(message)).ok()
    }
}

impl Vouched {
    fn of(grants: &Grants) -> Self {
        let axis = |set: &Set| match set {
            Set::All => Axis::All,
            Set::Only(items) => Axis::Only(items.iter().cloned().collect()),
        };
        Self { actions: axis(&grants.actions), channels: axis(&grants.channels), repos: axis(&grants.repos) }
    }

    fn grants(&self) -> Grants {
        let set = |axis: &Axis| match axis {
            Axis::All => Set::All,
            Axis::Only(items) => Set::Only(items.iter().cloned().collect()),
        };
        Grants { actions: set(&self.actions), channels: set(&self.channels), repos: set(&self.repos) }
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
    fn a_sender_is_as_its_channel_vouched_for_it_and_unknown_from_an_older_version() {
        let grants = Grants {
            actions: Set::of(&["dispatch"]),
            channels: Set::All,
            repos: Set::Only(Default::default()),
        };
        let note = Note {
            text: "x".into(),
            user_id: "http:ann".into(),
            received_at: 1,
            delivery: Some("d".into()),
            grants: Some(Vouched::of(&grants)),
        };
        let back = read(&Value::Object(note.message()));
        assert_eq!(back, note);
        assert_eq!(back.sender(), Some(Actor::new("http:ann", grants)));
        assert_eq!(read(&json!({ "text": "x", "userId": "http:ann" })).sender(), None);
        assert!(Note::read(Map::new()).is_none());
    }
}
