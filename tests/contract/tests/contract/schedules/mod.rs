//! Schedule firings. There is one store, so each case has its own schedule names.

pub mod latest;
pub mod record;

use serde_json::{Value, json};

/// Returns a minimal firing.
fn firing(schedule: &str, fired_at: i64) -> Value {
    json!({ "schedule": schedule, "firedAt": fired_at, "outcome": "completed" })
}

/// Returns the body of a record.
fn recorded(firing: Value) -> Value {
    json!({ "firing": firing })
}
