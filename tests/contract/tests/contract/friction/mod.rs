//! Friction ledgers. Each case has a separate ledger.

pub mod recent;
pub mod record;

use serde_json::{Value, json};

/// Returns a minimal record.
fn friction(run: &str, finished_at: i64) -> Value {
    json!({ "runId": run, "finishedAt": finished_at,
        "diagnosis": { "findings": [], "eventCount": 0, "verdict": "fine", "byCategory": {} } })
}

/// Returns the body of a record.
fn recorded(record: Value) -> Value {
    json!({ "record": record })
}
