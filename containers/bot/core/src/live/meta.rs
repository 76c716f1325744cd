//! What a live run's row says of the run: who asked for what and where (state-worker supplement section 9.2, `meta`).
//!
//! Enough for another process to show the run and to go on with it; the store does not look into it. Not here: the
//! composed prompt and the tools, which have columns of their own, and the conversation.

use ars_types::{Effort, ModelRef, ThreadKey, UnixMillis, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::registry::RunFacts;

/// A run's meta. Readers take what they know; fields of a later version do not disturb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The agent.
    pub agent: String,
    /// The model it was begun with.
    pub model: ModelRef,
    /// How hard it thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Namespaced channel.
    pub channel_id: String,
    /// Namespaced user.
    pub user_id: String,
    /// The thread.
    pub thread_key: String,
    /// Who may see the channel; unknown when absent, never public.
    #[serde(default = "unknown")]
    pub channel_visibility: Visibility,
    /// The repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The ref that was asked for.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// What it is about, for lists.
    pub label: String,
    /// When the request arrived.
    pub received_at: UnixMillis,
    /// What it holds of the day's money, in millionths of a dollar, where a day is capped: other processes count it.
    #[serde(default, rename = "holdMicroUsd", skip_serializing_if = "Option::is_none")]
    pub hold: Option<u64>,
}

fn unknown() -> Visibility {
    Visibility::Unknown
}

impl Meta {
    /// As the row keeps it.
    pub fn to_row(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(meta)) => meta,
            // Texts and a number always have a JSON form.
            _ => Map::new(),
        }
    }

    /// What the registry knows of the run.
    pub fn facts(&self) -> RunFacts {
        RunFacts {
            label: self.label.clone(),
            agent: self.agent.clone(),
            model: Some(self.model.to_string()),
            channel_id: self.channel_id.clone(),
            user_id: self.user_id.clone(),
            thread_key: ThreadKey::from_text(&self.thread_key)
                .unwrap_or_else(|| ThreadKey::new("unknown", "", "")),
            visibility: self.channel_visibility,
            repo: self.repo.clone(),
            received_at: self.received_at,
        }
    }

    /// From a row; an error for one that this version did not write.
    pub fn of_row(meta: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        Self::deserialize(meta)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_of_a_later_version_is_read_and_visibility_is_never_assumed_public() {
        let row = json!({
            "agent": "coding", "model": "a/b", "channelId": "http:x", "userId": "http:u", "threadKey": "http:x:y",
            "label": "l", "receivedAt": 5, "somethingNew": true,
        });
        let Value::Object(row) = row else { unreachable!() };
        let meta = Meta::of_row(&row).unwrap();
        assert_eq!(meta.channel_visibility, Visibility::Unknown);
        assert_eq!(Meta::of_row(&meta.to_row()).unwrap(), meta);
    }
}
