//! A request's firing, validated.
//!
//! Unlike records, a firing has a closed set of fields, so that a hundred of them stay small.

use serde::Deserialize as _;
use serde_json::{Map, Value as Json};

use ars_store::{Refusal, json::number, request::is_short};
use ars_wire::schedules::Outcome;

/// Maximum length of a schedule name in characters.
const MAX_SCHEDULE_CHARS: usize = 200;
/// Maximum length of a run id in characters.
const MAX_RUN_ID_CHARS: usize = 200;
/// Maximum length of a detail in characters.
const MAX_DETAIL_CHARS: usize = crate::firing::MAX_DETAIL_CHARS;

/// Fields that are allowed.
const FIELDS: [&str; 5] = ["schedule", "firedAt", "outcome", "runId", "detail"];

/// A firing that passed validation.
pub(super) struct Entry<'a> {
    pub(super) schedule: &'a str,
    pub(super) fired_at: f64,
    /// The firing's JSON text.
    pub(super) text: String,
}

impl<'a> Entry<'a> {
    /// Extracts the firing from a body.
    pub(super) fn read(body: &'a Map<String, Json>) -> Result<Self, Refusal> {
        let Some(firing @ Json::Object(fields)) = body.get("firing") else {
            return Err(Refusal::field("firing", "must be an object"));
        };
        let refuse = |name: &str, rule: &str| Refusal::field(format!("firing.{name}"), rule);
        let schedule = fields
            .get("schedule")
            .filter(|name| is_short(name, MAX_SCHEDULE_CHARS));
        let schedule = schedule
            .and_then(Json::as_str)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| refuse("schedule", "must be a string of 1 to 200 characters"))?;
        let fired_at = fields
            .get("firedAt")
            .and_then(number)
            .ok_or_else(|| refuse("firedAt", "must be a finite number"))?;
        // Must be a string: serde would also accept an object with the outcome as its key.
        let outcome = fields.get("outcome").filter(|word| word.is_string());
        if outcome
            .and_then(|word| Outcome::deserialize(word).ok())
            .is_none()
        {
            return Err(refuse(
                "outcome",
                "must be completed, failed, stopped_soft, stopped_hard, no-run, ingress-error or misconfigured",
            ));
        }
        if !fields
            .get("runId")
            .is_none_or(|id| is_short(id, MAX_RUN_ID_CHARS))
        {
            return Err(refuse(
                "runId",
                "must be a string of at most 200 characters when present",
            ));
        }
        if !fields
            .get("detail")
            .is_none_or(|detail| is_short(detail, MAX_DETAIL_CHARS))
        {
            return Err(refuse(
                "detail",
                "must be a string of at most 300 characters when present",
            ));
        }
        if !fields.keys().all(|name| FIELDS.contains(&name.as_str())) {
            let rule = "must have no fields but schedule, firedAt, outcome, runId and detail";
            return Err(Refusal::field("firing", rule));
        }
        Ok(Self {
            schedule,
            fired_at,
            text: firing.to_string(),
        })
    }
}
