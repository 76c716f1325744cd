//! Records and calls for the other tests.

use std::time::{SystemTime, UNIX_EPOCH};

use ars_tests_workerd::{Client, TOKEN};
use serde_json::{Value, json};

/// The bot's store key.
pub const STORE: &str = "runs:default";

/// Returns milliseconds since the epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// Returns a finished run with this many events.
pub fn record(id: &str, finished_at: u64, events: u64) -> Value {
    let stored: Vec<_> = (1..=events)
        .map(|seq| json!({ "seq": seq, "type": "text", "text": format!("line {seq} ✓") }))
        .collect();
    json!({
        "id": id,
        "label": "a run of tests",
        "agent": "coding",
        "model": "rehearsal/tests",
        "channelId": "http:tests",
        "userId": "http:alice",
        "threadKey": "http:tests:1",
        "channelVisibility": "machine",
        "startedAt": finished_at - 1000,
        "finishedAt": finished_at,
        "status": "completed",
        "eventCount": events,
        "storedEventCount": events,
        "truncated": false,
        "events": stored,
        "diagnosis": { "verdict": "fine", "eventCount": events, "findings": [], "byCategory": {} },
        "ofALaterVersion": { "kept": true },
    })
}

/// Sends an authorized request to the default store, which must succeed.
pub fn call(client: &Client, path: &str, mut body: Value) -> Value {
    if let Some(body) = body.as_object_mut() {
        body.entry("storeKey").or_insert_with(|| json!(STORE));
    }
    let answer = client.post(path, TOKEN, &body);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

/// Puts a record, which must be stored.
pub fn put(client: &Client, record: &Value) -> Value {
    let answer = call(client, "/runs/put", json!({ "record": record }));
    assert_eq!(answer["stored"], true, "{answer}");
    answer
}
