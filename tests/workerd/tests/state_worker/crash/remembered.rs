//! A memory scope: batches that supersede records from earlier batches, and deleted records.

use ars_tests_workerd::Client;
use serde_json::{Value, json};

use super::story::Story;
use crate::records::call;

/// Records in a batch.
const BATCH: u64 = 4;
/// Of this many requests the last deletes a record, and the others write a batch each.
const FORGET_EVERY: u64 = 4;
/// Requests in a scope. All its records fit into a single list, which has at most 50.
const REQUESTS: u64 = 12;
/// Batch index of the record that the next batch supersedes.
const SUPERSEDED: u64 = 1;
/// Batch index of the deleted record.
const FORGOTTEN: u64 = 2;

/// A memory scope's story.
pub struct Remembered {
    scope: String,
}

impl Remembered {
    /// Returns a scope with this name.
    pub fn new(name: &str) -> Self {
        Self {
            scope: format!("repo:crash/{name}"),
        }
    }

    /// Reads the scope's visible state: its records, and those that a query finds.
    pub fn seen(&self, client: &Client) -> Value {
        let list = |more: Value| {
            let mut body = json!({ "scopeKey": self.scope, "limit": 50 });
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let mut records = call(client, "/list", body)["records"].take();
            for record in records.as_array_mut().unwrap() {
                record.as_object_mut().unwrap().shift_remove("createdAt");
            }
            records
        };
        json!({ "all": list(json!({})), "found": list(json!({ "query": "crashes" })) })
    }

    fn id(&self, n: u64) -> String {
        format!("mem:{}:{n}", self.scope)
    }

    fn candidate(&self, n: u64) -> Value {
        let mut candidate = json!({
            "kind": "fact", "text": format!("Fact {n} about crashes ✓"), "keywords": ["crashes", format!("k{n}")],
            "sourceThreadKey": "http:tests:1",
        });
        if n.is_multiple_of(BATCH) && n > 0 {
            candidate["supersedes"] = json!(self.id(n - BATCH + SUPERSEDED));
        }
        candidate
    }

    fn record(&self, n: u64) -> Value {
        let mut record = self.candidate(n);
        record["id"] = json!(self.id(n));
        record["scopeKey"] = json!(self.scope);
        record["useCount"] = json!(0);
        record["status"] = json!("active");
        record
    }
}

impl Story for Remembered {
    fn name(&self) -> &str {
        &self.scope
    }

    fn len(&self) -> u64 {
        REQUESTS
    }

    fn request(&self, nth: u64) -> (&'static str, Value) {
        let first = batches(nth) * BATCH;
        if is_forget(nth) {
            let id = self.id(first - BATCH + FORGOTTEN);
            return ("/forget", json!({ "scopeKey": self.scope, "id": id }));
        }
        let records: Vec<_> = (first..first + BATCH).map(|n| self.candidate(n)).collect();
        (
            "/write",
            json!({ "scopeKey": self.scope, "records": records }),
        )
    }

    fn after(&self, done: u64) -> Value {
        let written = batches(done) * BATCH;
        let is_superseded = |n: u64| n % BATCH == SUPERSEDED && n + BATCH - SUPERSEDED < written;
        let forgotten: Vec<_> = (0..done)
            .filter(|nth| is_forget(*nth))
            .map(|nth| (batches(nth) - 1) * BATCH + FORGOTTEN)
            .collect();
        let active: Vec<_> = (0..written)
            .rev()
            .filter(|n| !is_superseded(*n) && !forgotten.contains(n))
            .map(|n| self.record(n))
            .collect();
        json!({ "all": active, "found": active })
    }
}

fn is_forget(nth: u64) -> bool {
    nth % FORGET_EVERY == FORGET_EVERY - 1
}

/// Returns how many batches the first `done` requests have.
fn batches(done: u64) -> u64 {
    done - done / FORGET_EVERY
}
