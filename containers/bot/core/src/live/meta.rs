//! A live run row's `meta` column: the request and the place (docs/reference/ledger.md#row).
//!
//! It suffices for another process to show the run and to resume it. The store does not read it.
//! Not here: the prompt and the tools, which have their own columns, and the conversation.

use ars_types::{Effort, ModelRef, ThreadKey, UnixMillis, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::registry::RunFacts;

/// A run's meta. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Name of the run's agent.
    pub agent: String,
    /// The model that the run started with.
    pub model: ModelRef,
    /// Effort for the model, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Namespaced id of the channel.
    pub channel_id: String,
    /// Namespaced id of the user.
    pub user_id: String,
    /// Key of the run's thread.
    pub thread_key: String,
    /// Who may see the channel; unknown when absent, never public.
    #[serde(default = "unknown")]
    pub channel_visibility: Visibility,
    /// Repository, if the run has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Git ref, if requested.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// The label in lists.
    pub label: String,
    /// When the request arrived.
    pub received_at: UnixMillis,
    /// Reserved part of the day's budget in micro-dollars, where a day is capped. Other processes count it.
    #[serde(
        default,
        rename = "holdMicroUsd",
        skip_serializing_if = "Option::is_none"
    )]
    pub hold: Option<u64>,
}

fn unknown() -> Visibility {
    Visibility::Unknown
}

impl Meta {
    /// Returns the column's JSON object.
    pub fn to_row(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(meta)) => meta,
            // Every field has a JSON form.
            _ => Map::new(),
        }
    }

    /// Returns the run's facts for the registry.
    pub fn facts(&self) -> RunFacts {
        RunFacts {
            label: self.label.clone(),
            agent: self.agent.clone(),
            model: Some(self.model.to_string()),
            channel_id: self.channel_id.clone(),
            user_id: self.user_id.clone(),
            thread_key: ThreadKey::from_text(&self.thread_key).unwrap_or_else(ThreadKey::unknown),
            visibility: self.channel_visibility,
            repo: self.repo.clone(),
            received_at: self.received_at,
        }
    }

    /// Reads the column.
    ///
    /// # Errors
    /// A field is missing or has another type.
    pub fn of_row(meta: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        Self::deserialize(meta)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_visibility_is_read_as_unknown() {
        let row = json!({
            "agent": "coding", "model": "a/b", "channelId": "http:x", "userId": "http:u", "threadKey": "http:x:y",
            "label": "l", "receivedAt": 5, "somethingNew": true,
        });
        let Value::Object(row) = row else {
            unreachable!()
        };
        let meta = Meta::of_row(&row).unwrap();
        assert_eq!(meta.channel_visibility, Visibility::Unknown);
        assert_eq!(Meta::of_row(&meta.to_row()).unwrap(), meta);
    }
}
