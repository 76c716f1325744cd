//! A store in memory, and records for it.

use serde_json::{Value, json};

use ars_friction::records::FrictionStore;
use ars_sql::{Sql as _, Value as Bound};
use ars_sql_native::NativeSql;
use ars_store::{Refusal, Store as _, StoreFailure};
use ars_wire::state::FrictionVerb;

pub const LEDGER: &str = "friction:default";

pub struct Store(pub FrictionStore<NativeSql>);

pub fn store() -> Store {
    Store(FrictionStore::open(NativeSql::in_memory().unwrap()).unwrap())
}

/// Returns the smallest accepted record.
pub fn record(run: &str, finished_at: f64) -> Value {
    json!({
        "runId": run, "finishedAt": finished_at,
        "diagnosis": { "findings": [], "eventCount": 0, "verdict": "fine", "byCategory": {} },
    })
}

impl Store {
    pub fn ask(&self, verb: FrictionVerb, body: &Value) -> Result<Value, StoreFailure> {
        // The store does not use the clock here.
        self.0
            .answer(verb, &body.to_string(), 0)
            .map(|text| serde_json::from_str(&text).unwrap())
    }

    pub fn record_in(&self, ledger: &str, record: &Value) -> i64 {
        let body = json!({ "ledgerKey": ledger, "record": record });
        let answer = self.ask(FrictionVerb::Record, &body).unwrap();
        let retained = answer["retained"].as_i64().unwrap();
        assert_eq!(answer, json!({ "ok": true, "retained": retained }));
        retained
    }

    pub fn record(&self, record: &Value) -> i64 {
        self.record_in(LEDGER, record)
    }

    /// Returns the default ledger's answer to `/friction/recent`.
    pub fn recent(&self, options: &Value) -> Value {
        self.ask(
            FrictionVerb::Recent,
            &with(&json!({ "ledgerKey": LEDGER }), options),
        )
        .unwrap()
    }

    pub fn runs(&self, options: &Value) -> Vec<String> {
        runs(&self.recent(options))
    }

    pub fn refused(&self, verb: FrictionVerb, body: &Value) -> String {
        match self.ask(verb, body) {
            Err(StoreFailure::Refusal(Refusal::Field(message))) => message,
            other => panic!("{body} should be refused, and came to {other:?}"),
        }
    }

    pub fn count(&self) -> i64 {
        let rows = self
            .0
            .sql()
            .query("SELECT count(*) FROM friction_records", &[])
            .unwrap();
        rows[0].integer(0).unwrap()
    }

    pub fn execute(&self, sql: &str, params: &[&str]) {
        let params: Vec<_> = params.iter().map(|text| Bound::from(*text)).collect();
        self.0.sql().execute(sql, &params).unwrap();
    }
}

pub fn runs(answer: &Value) -> Vec<String> {
    let run = |record: &Value| record["runId"].as_str().unwrap().to_owned();
    answer["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(run)
        .collect()
}

/// Returns `base` with the fields in `changes` replaced.
pub fn with(base: &Value, changes: &Value) -> Value {
    let mut base = base.clone();
    base.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    base
}
