//! A finished run, written by a single put.

use ars_runs::diagnosis;
use ars_tests_workerd::Client;
use serde_json::{Value, json};

use super::story::Story;
use crate::records::{call, now, record};

/// Events in a record.
const EVENTS: u64 = 32;

/// A record that is put.
pub struct Finished {
    id: String,
    record: Value,
}

impl Finished {
    /// Returns a record with this id.
    pub fn new(id: String) -> Self {
        let record = readable(record(&id, now(), EVENTS));
        Self { id, record }
    }

    /// Reads the record's visible state.
    pub fn seen(&self, client: &Client) -> Value {
        call(client, "/runs/get", json!({ "id": self.id }))
    }
}

impl Story for Finished {
    fn name(&self) -> &str {
        &self.id
    }

    fn len(&self) -> u64 {
        1
    }

    fn request(&self, _: u64) -> (&'static str, Value) {
        ("/runs/put", json!({ "record": self.record }))
    }

    fn after(&self, done: u64) -> Value {
        json!({ "record": if done == 0 { &Value::Null } else { &self.record } })
    }
}

/// Returns a record in the form in which it is read.
pub fn readable(mut record: Value) -> Value {
    diagnosis::normalise(&mut record["diagnosis"]);
    record
}
