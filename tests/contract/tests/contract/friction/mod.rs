//! Friction ledgers (state-worker supplement section 3). Each case has a ledger of its own.

pub mod recent;
pub mod record;

use serde_json::{Value, json};

/// A record, as little as it may hold.
fn friction(run: &str, finished_at: i64) -> Value {
    json!({ "runId": run, "finishedAt": finished_at,
        "diagnosis": { "findings": [], "eventCount": 0, "verdict": "fine", "byCategory": {} } })
}

/// The body of a record.
fn recorded(record: Value) -> Value {
    json!({ "record": record })
}
