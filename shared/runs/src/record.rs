//! The run record.

use ars_types::{RunId, RunStatus, UnixMillis, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::diagnosis;

/// Additional record field: the run's cost, in millionths of a dollar.
pub const COST: &str = "costMicroUsd";
/// Additional record field: the cost for the reflection after the run.
pub const REFLECTION_COST: &str = "reflectionMicroUsd";
/// Additional record field: the cost for abridging its reading diff, in millionths of a dollar.
pub const ABRIDGE_COST: &str = "abridgeMicroUsd";
/// Additional field in a closing record: the run's daily budget reservation in micro-dollars. It is
/// present if the run may have cost more than is known. The day's total counts it, a receipt does
/// not show it.
pub const RESERVED_COST: &str = "heldMicroUsd";
/// Additional record field: the untrusted sources that the run had read. Absent if unknown.
/// Includes the thread's sources.
pub const TAINT: &str = "taint";
/// Schema version for records with spans.
pub const SCHEMA_WITH_SPANS: u32 = 2;

/// A stored run. Events are JSON values, because readers must accept unknown kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Id of the run.
    pub id: RunId,
    /// Redacted request summary, for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Model as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Channel id with the namespace.
    pub channel_id: String,
    /// User id with the namespace.
    pub user_id: String,
    /// Key of the run's thread.
    pub thread_key: String,
    /// The channel's visibility. A stored record without it reads as `unknown`, never `public`.
    #[serde(default = "unknown_visibility")]
    pub channel_visibility: Visibility,
    /// Repository that the run worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// When the run was created.
    pub started_at: UnixMillis,
    /// When the run finished.
    pub finished_at: UnixMillis,
    /// When the request arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_at: Option<UnixMillis>,
    /// Time at which the event stream was sealed, after the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<UnixMillis>,
    /// Whether the reply was delivered. Absent if none was attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_ok: Option<bool>,
    /// Number of loop steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_count: Option<u32>,
    /// 2 if the record has spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// Final status of the run.
    pub status: RunStatus,
    /// Number of published events.
    pub event_count: u64,
    /// Number of stored events: `events.len()`.
    pub stored_event_count: u64,
    /// Whether the two counts differ.
    pub truncated: bool,
    /// Events in seq order.
    pub events: Vec<Value>,
    /// Friction analysis result (`ars-friction`).
    pub diagnosis: Value,
    /// Unknown fields, such as those from a later version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A record's numeric fields. A store accepts fractions and integers written as `2.0`.
const NUMBERS: [&str; 8] = [
    "startedAt",
    "finishedAt",
    "receivedAt",
    "sealedAt",
    "eventCount",
    "storedEventCount",
    "stepCount",
    "schema",
];

impl RunRecord {
    /// Reads a record from a store's answer. Fractions are rounded away and the diagnosis is normalized.
    ///
    /// # Errors
    /// Describes the malformed field.
    pub fn from_stored(mut value: Value) -> Result<Self, String> {
        for name in NUMBERS {
            if let Some(number) = value.get_mut(name)
                && let Some(fraction) = number.as_f64().filter(|_| number.is_f64())
            {
                *number = Value::from(fraction.round() as i64);
            }
        }
        let mut record: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        diagnosis::check(&record.diagnosis, "diagnosis").map_err(|refusal| refusal.to_string())?;
        diagnosis::normalise(&mut record.diagnosis);
        Ok(record)
    }
}

fn unknown_visibility() -> Visibility {
    Visibility::Unknown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored() -> Value {
        json!({
            "id": "r", "channelId": "c", "userId": "u", "threadKey": "t", "startedAt": 1.5, "finishedAt": 2e3,
            "status": "completed", "eventCount": 0.0, "storedEventCount": 0, "stepCount": 3.0, "truncated": false, "events": [],
            "diagnosis": { "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} }, "later": [1],
        })
    }

    #[test]
    fn unknown_fields_survive_reading() {
        let record = RunRecord::from_stored(stored()).unwrap();
        assert_eq!(
            (record.started_at, record.finished_at, record.event_count),
            (2, 2000, 0)
        );
        assert_eq!(record.step_count, Some(3));
        assert_eq!(record.channel_visibility, Visibility::Unknown);
        assert_eq!(record.extra["later"], json!([1]));
        assert_eq!(
            record.diagnosis["byCategory"]["retry"],
            json!({ "count": 0, "durationMs": 0 })
        );
    }

    #[test]
    fn a_malformed_record_is_an_error() {
        for (name, value) in [
            ("id", json!("a b")),
            ("status", json!("fine")),
            ("channelVisibility", json!("open")),
            ("eventCount", json!(-1)),
            ("diagnosis", json!({})),
            ("events", json!(null)),
        ] {
            let mut record = stored();
            record[name] = value;
            assert!(RunRecord::from_stored(record).is_err(), "{name}");
        }
    }
}
