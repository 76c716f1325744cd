//! A record as a request brings it, checked (state-worker supplement section 3). Fields that are not named there ride
//! along.

use serde_json::{Map, Value as Json};

use ars_store::{Refusal, json::number, request::is_short};

use super::diagnosis;

/// Characters of a run's name.
const MAX_RUN_ID_CHARS: usize = 200;
/// Characters of a record's JSON text.
const MAX_RECORD_CHARS: usize = 65_536;

/// A record that a ledger takes.
pub(super) struct Entry<'a> {
    pub(super) run_id: &'a str,
    pub(super) finished_at: f64,
    /// The record's JSON text.
    pub(super) text: String,
}

impl<'a> Entry<'a> {
    /// Finds the record in a body.
    pub(super) fn read(body: &'a Map<String, Json>) -> Result<Self, Refusal> {
        let Some(record @ Json::Object(fields)) = body.get("record") else {
            return Err(Refusal::field("record", "must be an object"));
        };
        let run_id = fields.get("runId").filter(|id| is_short(id, MAX_RUN_ID_CHARS)).and_then(Json::as_str);
        let run_id = run_id
            .filter(|id| !id.is_empty())
            .ok_or_else(|| Refusal::field("record.runId", "must be a string of 1 to 200 characters"))?;
        let finished_at = fields
            .get("finishedAt")
            .and_then(number)
            .ok_or_else(|| Refusal::field("record.finishedAt", "must be a finite number"))?;
        for name in ["label", "agent"] {
            if !fields.get(name).is_none_or(Json::is_string) {
                return Err(Refusal::field(format!("record.{name}"), "must be a string when present"));
            }
        }
        diagnosis::check_outline(fields.get("diagnosis").unwrap_or(&Json::Null), "record.diagnosis")?;
        let text = record.to_string();
        if text.len() > MAX_RECORD_CHARS && text.chars().count() > MAX_RECORD_CHARS {
            return Err(Refusal::field("record", "must take at most 65536 characters as JSON"));
        }
        Ok(Self { run_id, finished_at, text })
    }
}
