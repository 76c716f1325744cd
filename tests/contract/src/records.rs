//! Bodies used by many tests.

use serde_json::{Value, json};

/// Returns a minimal finished run without events.
pub fn record(id: &str, finished_at: i64) -> Value {
    json!({
        "id": id, "channelId": "C1", "userId": "U1", "threadKey": "http:C1:1",
        "startedAt": finished_at - 1000, "finishedAt": finished_at, "status": "completed",
        "eventCount": 0, "storedEventCount": 0, "truncated": false, "events": [],
        "diagnosis": { "findings": [], "eventCount": 0, "verdict": "fine", "byCategory": {} },
    })
}

/// Returns an object with some fields replaced or added.
pub fn with(mut object: Value, fields: Value) -> Value {
    let (Value::Object(object_fields), Value::Object(fields)) = (&mut object, fields) else {
        panic!("both are objects");
    };
    object_fields.extend(fields);
    object
}

/// Returns a minimal run to claim.
pub fn run(id: &str, thread: &str, generation: &str) -> Value {
    json!({ "runId": id, "threadKey": thread, "gen": generation, "leaseMs": 3_600_000, "startedAt": 1,
        "meta": {}, "system": "", "tools": [] })
}

/// Returns a minimal step record.
pub fn step(number: i64) -> Value {
    json!({ "step": number, "seq": 0, "turnIndex": 0, "inboxConsumedSeq": 0, "remainingMs": 0, "turn": 0,
        "iteration": 0, "inFlight": [] })
}
