//! A store in memory, and firings for it.

use serde_json::{Value, json};

use ars_schedules::ScheduleStore;
use ars_sql::{Sql as _, Value as Bound};
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure};
use ars_wire::state::ScheduleVerb;

pub struct Store(pub ScheduleStore<NativeSql>);

pub fn store() -> Store {
    Store(ScheduleStore::open(NativeSql::in_memory().unwrap()).unwrap())
}

/// The smallest valid firing.
pub fn firing(schedule: &str, fired_at: f64) -> Value {
    json!({ "schedule": schedule, "firedAt": fired_at, "outcome": "completed" })
}

impl Store {
    pub fn ask(&self, verb: ScheduleVerb, body: &str) -> Result<Value, StoreFailure> {
        // The store does not use a clock.
        self.0
            .answer(verb, body, 0)
            .map(|text| serde_json::from_str(&text).unwrap())
    }

    pub fn record(&self, firing: &Value) -> Value {
        self.ask(
            ScheduleVerb::Record,
            &json!({ "firing": firing }).to_string(),
        )
        .unwrap()
    }

    /// Returns the newest firings as text, to compare them verbatim.
    pub fn latest(&self) -> String {
        self.0.answer(ScheduleVerb::Latest, "{}", 0).unwrap()
    }

    pub fn details(&self) -> Vec<String> {
        let latest: Value = serde_json::from_str(&self.latest()).unwrap();
        let detail = |firing: &Value| firing["detail"].as_str().unwrap().to_owned();
        latest["firings"]
            .as_array()
            .unwrap()
            .iter()
            .map(detail)
            .collect()
    }

    pub fn count(&self) -> i64 {
        self.0
            .sql()
            .query("SELECT count(*) FROM firings", &[])
            .unwrap()[0]
            .integer(0)
            .unwrap()
    }

    pub fn execute(&self, sql: &str, params: &[&str]) {
        let params: Vec<_> = params.iter().map(|text| Bound::from(*text)).collect();
        self.0.sql().execute(sql, &params).unwrap();
    }
}

/// Returns `base` with the fields in `changes`.
pub fn with(base: &Value, changes: &Value) -> Value {
    let mut base = base.clone();
    base.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    base
}
