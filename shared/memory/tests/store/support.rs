//! A store in memory, and candidates for it.

use ars_memory::MemoryStore;
use ars_sql::{Row, Sql, Value as Bound};
use ars_sql_native::NativeSql;
use ars_store::{Refusal, Store as _, StoreFailure};
use ars_wire::state::MemoryVerb;
use serde_json::{Map, Value, json};

pub const NOW: i64 = 1_700_000_000_000;
pub const SCOPE: &str = "org:acme";

pub struct Store(pub MemoryStore<NativeSql>);

pub fn store() -> Store {
    Store(MemoryStore::open(NativeSql::in_memory().unwrap()).unwrap())
}

/// Returns the smallest accepted candidate.
pub fn candidate(text: &str) -> Value {
    json!({ "kind": "fact", "text": text, "sourceThreadKey": "t:C1:1" })
}

pub fn superseding(text: &str, id: &str) -> Value {
    with(candidate(text), json!({ "supersedes": id }))
}

/// Returns `base` with the fields in `changes` replaced.
pub fn with(mut base: Value, changes: Value) -> Value {
    let (Value::Object(base_map), Value::Object(changes)) = (&mut base, changes) else {
        panic!("objects")
    };
    base_map.extend(changes);
    base
}

pub fn id(n: i64) -> String {
    format!("mem:{SCOPE}:{n}")
}

impl Store {
    /// Sends a request with the scope key in the body.
    pub fn ask(&self, verb: MemoryVerb, body: Value, now: i64) -> Result<Value, StoreFailure> {
        let body = with(json!({ "scopeKey": SCOPE }), body);
        self.0.answer(verb, &body.to_string(), now).map(|text| {
            let object: Map<String, Value> =
                serde_json::from_str(&text).expect("an answer is a JSON object");
            Value::Object(object)
        })
    }

    /// Returns the counts inserted, deduped, superseded, evicted.
    pub fn write_at(&self, body: Value, now: i64) -> [i64; 4] {
        let answer = self.ask(MemoryVerb::Write, body, now).unwrap();
        let count = |name: &str| answer[name].as_i64().unwrap();
        assert_eq!(
            (answer.as_object().unwrap().len(), &answer["ok"]),
            (5, &json!(true)),
            "{answer}"
        );
        ["inserted", "deduped", "superseded", "evicted"].map(count)
    }

    pub fn write(&self, records: &[Value]) -> [i64; 4] {
        self.write_at(json!({ "records": records }), NOW)
    }

    pub fn write_texts(&self, texts: &[&str]) {
        let records: Vec<_> = texts.iter().map(|text| candidate(text)).collect();
        assert_eq!(self.write(&records)[0], texts.len() as i64);
    }

    pub fn retrieve_at(&self, query: &str, limit: i64, now: i64) -> Vec<Value> {
        records(
            self.ask(
                MemoryVerb::Retrieve,
                json!({ "query": query, "limit": limit }),
                now,
            )
            .unwrap(),
        )
    }

    pub fn retrieve(&self, query: &str) -> Vec<Value> {
        self.retrieve_at(query, 50, NOW)
    }

    pub fn list(&self, body: Value) -> Vec<Value> {
        records(
            self.ask(MemoryVerb::List, with(json!({ "limit": 50 }), body), NOW)
                .unwrap(),
        )
    }

    pub fn forget(&self, id: &str) -> bool {
        let answer = self
            .ask(MemoryVerb::Forget, json!({ "id": id }), NOW)
            .unwrap();
        let forgotten = answer["forgotten"].as_bool().unwrap();
        assert_eq!(answer, json!({ "ok": true, "forgotten": forgotten }));
        forgotten
    }

    pub fn rows(&self, sql: &str, params: &[Bound]) -> Vec<Row> {
        self.0.sql().query(sql, params).unwrap()
    }

    /// Asserts that the full-text index holds exactly the active rows.
    pub fn assert_index_in_step(&self) {
        self.rows(
            "INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)",
            &[],
        );
        let plain = "SELECT count(*) FROM memory_records \
                     WHERE (status = 'active') <> (tokens IS NOT NULL AND normalized IS NOT NULL)";
        assert_eq!(self.rows(plain, &[])[0].integer(0).unwrap(), 0);
    }
}

pub fn records(mut answer: Value) -> Vec<Value> {
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    match answer["records"].take() {
        Value::Array(records) => records,
        other => panic!("{other}"),
    }
}

pub fn texts(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["text"].as_str().unwrap())
        .collect()
}

pub fn ids(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect()
}

pub fn refusal(result: Result<Value, StoreFailure>) -> Refusal {
    match result.unwrap_err() {
        StoreFailure::Refusal(refusal) => refusal,
        StoreFailure::Fault(fault) => panic!("a fault where a refusal belongs: {fault}"),
    }
}
