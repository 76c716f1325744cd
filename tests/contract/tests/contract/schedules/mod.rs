//! Schedule firings (state-worker supplement section 4). There is one store, so each case names schedules of its own.

pub mod latest;
pub mod record;

use serde_json::{Value, json};

/// A firing, as little as it may hold.
fn firing(schedule: &str, fired_at: i64) -> Value {
    json!({ "schedule": schedule, "firedAt": fired_at, "outcome": "completed" })
}

/// The body of a record.
fn recorded(firing: Value) -> Value {
    json!({ "firing": firing })
}
