//! An in-memory store and records for it.

use ars_runs::RunStore;
use ars_sql::{Sql, Value as Bound};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_store::{Refusal, StoreFailure};
use serde_json::{Map, Value, json};

/// The time on the store's clock, large enough that a year earlier is still positive.
pub const NOW: i64 = 1_700_000_000_000;
pub const DAY: i64 = 86_400_000;

pub struct Store(pub RunStore<NativeSql>);

pub fn store() -> Store {
    Store(RunStore::open(NativeSql::in_memory().unwrap()).unwrap())
}

/// Returns the smallest accepted record.
pub fn record(id: &str, finished_at: i64) -> Value {
    json!({
        "id": id, "channelId": "C1", "userId": "U1", "threadKey": "t:C1:1", "startedAt": finished_at - 10,
        "finishedAt": finished_at, "status": "completed", "eventCount": 1, "storedEventCount": 1,
        "truncated": false, "events": [{ "type": "input", "text": "hello", "seq": 1 }],
        "diagnosis": { "findings": [], "eventCount": 1, "verdict": "fine", "byCategory": {} },
    })
}

/// Returns `base` with the fields in `changes` replaced.
pub fn with(mut base: Value, changes: Value) -> Value {
    let (Value::Object(base_map), Value::Object(changes)) = (&mut base, changes) else {
        panic!("objects")
    };
    base_map.extend(changes);
    base
}

pub fn events(seqs: impl IntoIterator<Item = i64>) -> Value {
    seqs.into_iter()
        .map(|seq| json!({ "type": "x", "seq": seq }))
        .collect()
}

impl Store {
    pub fn try_put(&self, body: &Value, now: i64) -> Result<Value, StoreFailure> {
        self.0.put(&body.to_string(), now).map(|text| parse(&text))
    }

    pub fn put(&self, record: Value) -> Value {
        self.try_put(
            &json!({ "storeKey": "runs:default", "record": record }),
            NOW,
        )
        .unwrap()
    }

    pub fn get(&self, id: &str) -> Value {
        let mut answer = parse(&self.0.get(&json!({ "id": id }).to_string(), NOW).unwrap());
        answer["record"].take()
    }

    pub fn try_list(&self, body: &Value) -> Result<Value, StoreFailure> {
        self.0.list(&body.to_string(), NOW).map(|text| parse(&text))
    }

    pub fn list(&self, body: Value) -> Value {
        self.try_list(&body).unwrap()
    }

    pub fn listed(&self, body: Value) -> Vec<String> {
        ids(&self.list(body))
    }

    pub fn try_events(&self, body: &Value) -> Result<Value, StoreFailure> {
        self.0
            .events(&body.to_string(), NOW)
            .map(|text| parse(&text))
    }

    pub fn events(&self, body: Value) -> Value {
        self.try_events(&body).unwrap()
    }

    pub fn count(&self, table: &str) -> i64 {
        self.0
            .sql()
            .query(&format!("SELECT count(*) FROM {table}"), &[])
            .unwrap()[0]
            .integer(0)
            .unwrap()
    }

    pub fn execute(&self, sql: &str, params: &[&str]) {
        let params: Vec<_> = params.iter().map(|text| Bound::from(*text)).collect();
        self.0.sql().execute(sql, &params).unwrap();
    }
}

/// Parses an answer, which must be a JSON object.
pub fn parse(text: &str) -> Value {
    let object: Map<String, Value> =
        serde_json::from_str(text).expect("an answer is a JSON object");
    Value::Object(object)
}

pub fn ids(page: &Value) -> Vec<String> {
    page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

pub fn refusal<T: std::fmt::Debug>(result: Result<T, StoreFailure>) -> Refusal {
    match result.unwrap_err() {
        StoreFailure::Refusal(refusal) => refusal,
        StoreFailure::Fault(fault) => panic!("a fault where a refusal belongs: {fault}"),
    }
}
