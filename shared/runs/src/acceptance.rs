//! Validates a record before it is stored.
//!
//! Only fields that readers depend on are checked. Counts are not compared with the events, nor
//! times with each other. Unknown fields and unknown event types are accepted.

use serde_json::{Map, Value};

use ars_store::{
    Refusal,
    json::{number, whole},
};
use ars_types::{RunId, RunStatus, Visibility};

use crate::{diagnosis, store::EventText};

/// A predicate over a single field, and the description for the refusal.
type Rule = (fn(&Value) -> bool, &'static str);

const TEXT: Rule = (Value::is_string, "must be a string");
const NUMBER: Rule = (|value| number(value).is_some(), "must be a finite number");
const FLAG: Rule = (Value::is_boolean, "must be a boolean");
const COUNT: Rule = (
    |value| whole(value).is_some_and(|count| count >= 0),
    "must be an integer of at least 0",
);
const ID: Rule = (
    |value| value.as_str().is_some_and(|id| RunId::parse(id).is_ok()),
    "must be 1 to 64 letters, digits, `_` or `-`",
);
const STATUS: Rule = (
    |value| value.as_str().and_then(RunStatus::parse).is_some(),
    "must be completed, stopped_soft, stopped_hard, failed or interrupted",
);
const VISIBILITY: Rule = (
    |value| value.as_str().and_then(Visibility::parse).is_some(),
    "must be public, private, dm, machine or unknown when present",
);

/// Fields every record has.
const REQUIRED: [(&str, Rule); 10] = [
    ("id", ID),
    ("channelId", TEXT),
    ("userId", TEXT),
    ("threadKey", TEXT),
    ("startedAt", NUMBER),
    ("finishedAt", NUMBER),
    ("eventCount", NUMBER),
    ("storedEventCount", NUMBER),
    ("status", STATUS),
    ("truncated", FLAG),
];

/// Optional fields. Null does not count as absent.
const OPTIONAL: [(&str, Rule); 13] = [
    ("label", TEXT),
    ("agent", TEXT),
    ("model", TEXT),
    ("repo", TEXT),
    ("activity", TEXT),
    ("sourceUrl", TEXT),
    ("userName", TEXT),
    ("channelVisibility", VISIBILITY),
    ("receivedAt", NUMBER),
    ("sealedAt", NUMBER),
    ("replyOk", FLAG),
    ("stepCount", COUNT),
    ("schema", COUNT),
];

/// Validates a record. The refusal names the first invalid field.
pub(crate) fn check(
    record: &Map<String, Value>,
    events: Option<&[EventText<'_>]>,
) -> Result<(), Refusal> {
    for (name, (holds, rule)) in REQUIRED {
        if !record.get(name).is_some_and(holds) {
            return Err(Refusal::field(format!("record.{name}"), rule));
        }
    }
    for (name, (holds, rule)) in OPTIONAL {
        if !record.get(name).is_none_or(holds) {
            return Err(Refusal::field(format!("record.{name}"), rule));
        }
    }
    check_events(events)?;
    diagnosis::check(
        record.get("diagnosis").unwrap_or(&Value::Null),
        "record.diagnosis",
    )
}

fn check_events(events: Option<&[EventText<'_>]>) -> Result<(), Refusal> {
    let events = events.ok_or_else(|| Refusal::field("record.events", "must be an array"))?;
    match events.iter().position(|event| !event.is_typed) {
        Some(index) => Err(Refusal::field(
            format!("record.events[{index}]"),
            "must be an object with a string type",
        )),
        None => Ok(()),
    }
}
