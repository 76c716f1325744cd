//! Bodies used by many tables.

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

/// Returns a finished run with these events.
pub fn record_of(id: &str, finished_at: i64, events: &[Value]) -> Value {
    let count = events.len();
    with(record(id, finished_at), json!({ "eventCount": count, "storedEventCount": count, "events": events }))
}

/// Returns an object with some of its fields replaced or added.
pub fn with(mut object: Value, fields: Value) -> Value {
    let (Value::Object(object_fields), Value::Object(fields)) = (&mut object, fields) else {
        panic!("both are objects");
    };
    object_fields.extend(fields);
    object
}

/// Returns an object without one of its fields.
pub fn without(mut object: Value, field: &str) -> Value {
    assert!(object.as_object_mut().is_some_and(|fields| fields.shift_remove(field).is_some()), "no {field}");
    object
}

/// Returns the body of a put.
pub fn put(record: Value) -> Value {
    json!({ "record": record })
}

/// Nests `leaf` in `levels` objects built by `around`.
pub fn nested(levels: usize, leaf: Value, around: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(leaf, |inner, _| around(inner))
}
