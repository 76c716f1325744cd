//! The run record (document 2 section 2.3).

use ars_types::{RunId, RunStatus, UnixMillis, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::diagnosis;

/// Field of a record beside the specified ones: what the run cost, in millionths of a dollar.
pub const COST: &str = "costMicroUsd";
/// And what reflecting on it cost afterwards.
pub const REFLECTION_COST: &str = "reflectionMicroUsd";
/// Field of a closing record: what the run held of the day's money, in millionths of a dollar, where it may have cost
/// more than is known. The day counts it; a receipt does not tell it.
pub const HELD: &str = "heldMicroUsd";
/// Version of records that hold span records.
pub const SCHEMA_WITH_SPANS: u32 = 2;

/// One run as it is kept. Events ride as JSON: readers must accept kinds they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// The run.
    pub id: RunId,
    /// What it is about, for lists; redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Namespaced channel.
    pub channel_id: String,
    /// Namespaced user.
    pub user_id: String,
    /// The thread.
    pub thread_key: String,
    /// Who may see the channel. A stored record that lacks it reads as `unknown`, never `public`.
    #[serde(default = "unknown_visibility")]
    pub channel_visibility: Visibility,
    /// The repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// When the run was created.
    pub started_at: UnixMillis,
    /// When it finished.
    pub finished_at: UnixMillis,
    /// When the request arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_at: Option<UnixMillis>,
    /// When the stream was sealed, after the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<UnixMillis>,
    /// Whether the reply was delivered; absent when none was attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_ok: Option<bool>,
    /// Loop steps taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_count: Option<u32>,
    /// 2 once span records are emitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// How it ended.
    pub status: RunStatus,
    /// Events published.
    pub event_count: u64,
    /// Events kept: `events.len()`.
    pub stored_event_count: u64,
    /// The two counts differ.
    pub truncated: bool,
    /// The events, in seq order.
    pub events: Vec<Value>,
    /// What slowed it (`ars-friction`).
    pub diagnosis: Value,
    /// Fields of a later version, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Numbers of a record. A store takes them with a fraction or written as `2.0` (state-worker supplement section 5.3).
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
    /// Reads a record from a store's answer, whoever wrote it: fractions are rounded away and the diagnosis is made
    /// what readers expect. The error says what is malformed.
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
    fn a_record_of_any_writer_is_read_and_unknown_fields_stay() {
        let record = RunRecord::from_stored(stored()).unwrap();
        assert_eq!((record.started_at, record.finished_at, record.event_count), (2, 2000, 0));
        assert_eq!(record.step_count, Some(3));
        assert_eq!(record.channel_visibility, Visibility::Unknown);
        assert_eq!(record.extra["later"], json!([1]));
        assert_eq!(record.diagnosis["byCategory"]["retry"], json!({ "count": 0, "durationMs": 0 }));
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
