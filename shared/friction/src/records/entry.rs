//! Checks a record in a request (docs/reference/friction.md#routes). Unknown fields are stored.

use serde_json::{Map, Value as Json};

use ars_store::{Refusal, json::number, request::is_short};

use super::diagnosis;

/// Maximum length of a run id in characters.
const MAX_RUN_ID_CHARS: usize = 200;
/// Maximum length of a record's JSON in characters.
const MAX_RECORD_CHARS: usize = 65_536;

/// A record that was accepted.
pub(super) struct Entry<'a> {
    pub(super) run_id: &'a str,
    pub(super) finished_at: f64,
    /// The record as JSON.
    pub(super) text: String,
}

impl<'a> Entry<'a> {
    /// Parses the record in a body.
    pub(super) fn read(body: &'a Map<String, Json>) -> Result<Self, Refusal> {
        let Some(record @ Json::Object(fields)) = body.get("record") else {
            return Err(Refusal::field("record", "must be an object"));
        };
        let run_id = fields
            .get("runId")
            .filter(|id| is_short(id, MAX_RUN_ID_CHARS))
            .and_then(Json::as_str);
        let run_id = run_id.filter(|id| !id.is_empty()).ok_or_else(|| {
            Refusal::field("record.runId", "must be a string of 1 to 200 characters")
        })?;
        let finished_at = fields
            .get("finishedAt")
            .and_then(number)
            .ok_or_else(|| Refusal::field("record.finishedAt", "must be a finite number"))?;
        for name in ["label", "agent"] {
            if !fields.get(name).is_none_or(Json::is_string) {
                return Err(Refusal::field(
                    format!("record.{name}"),
                    "must be a string when present",
                ));
            }
        }
        diagnosis::check_outline(
            fields.get("diagnosis").unwrap_or(&Json::Null),
            "record.diagnosis",
        )?;
        let text = record.to_string();
        if text.len() > MAX_RECORD_CHARS && text.chars().count() > MAX_RECORD_CHARS {
            return Err(Refusal::field(
                "record",
                "must have at most 65536 characters as JSON",
            ));
        }
        Ok(Self {
            run_id,
            finished_at,
            text,
        })
    }
}
