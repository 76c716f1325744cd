//! Makes an answer reproducible by replacing times.
//!
//! A time that a request sent is replaced by its distance from the base, so that the snapshot shows which one came
//! back. A time of the subject's clock is rounded to ten minutes, which is longer than any test.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::records::record;

/// Range of numbers that count as times: two years around the base.
const SPAN_MS: f64 = 730.0 * 86_400_000.0;
/// Granularity of the subject's own times.
const GRAIN_MS: f64 = 600_000.0;
/// Age of a table's base when the table is created. Cases send no time within ten minutes after the base, because it
/// could be confused with the subject's clock.
const BASE_AGE_MS: i64 = 60_000;

/// Returns the base of all times of a table.
pub(crate) fn base() -> i64 {
    crate::subject::now() - BASE_AGE_MS
}

/// Replaces times, given those sent so far.
pub(crate) struct Redactor {
    base: f64,
    sent: HashSet<u64>,
}

impl Redactor {
    pub fn new(base: i64) -> Self {
        Self { base: base as f64, sent: HashSet::new() }
    }

    /// Records the times in a request's body. A body that is not JSON has none.
    pub fn note(&mut self, body: &str) {
        if let Ok(body) = ars_store::json::parse(body) {
            self.note_value(&body);
        }
    }

    fn note_value(&mut self, value: &Value) {
        match value {
            Value::Number(number) => {
                self.sent.extend(number.as_f64().map(f64::to_bits));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| self.note_value(entry)),
            Value::Object(fields) => fields.values().for_each(|field| self.note_value(field)),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    /// Returns the value with its times replaced.
    pub fn apply(&self, value: &Value) -> Value {
        match value {
            Value::Number(number) => {
                number.as_f64().and_then(|time| self.word(time)).map_or_else(|| value.clone(), Value::String)
            }
            Value::Array(entries) => entries.iter().map(|entry| self.apply(entry)).collect(),
            Value::Object(fields) => self.object(fields),
            Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Value {
        let field = |(name, value): (&String, &Value)| (name.clone(), self.apply(value));
        Value::Object(fields.iter().map(field).collect())
    }

    fn word(&self, time: f64) -> Option<String> {
        let away = time - self.base;
        if away.abs() > SPAN_MS {
            return None;
        }
        Some(if self.sent.contains(&time.to_bits()) {
            match away {
                0.0 => "T".to_owned(),
                away => format!("T{away:+}"),
            }
        } else {
            match (away / GRAIN_MS).floor() {
                0.0 => "clock".to_owned(),
                grains => format!("clock{:+} min", grains * GRAIN_MS / 60_000.0),
            }
        })
    }
}

/// Replaces the fields of a minimal record, except names, times and counts, by a placeholder. Some cases render them in
/// full, which documents the placeholder.
pub(crate) fn fold_records(value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(fold_records),
        Value::Object(fields) => {
            let usual = usual_fields();
            if usual.iter().all(|(name, value)| fields.get(name) == Some(value)) {
                fields.retain(|name, _| !usual.contains_key(name));
                fields.insert("and".to_owned(), json!("the usual"));
            } else if fields.get("diagnosis") == usual.get("diagnosis") {
                fields["diagnosis"] = json!("the usual");
            }
            fields.values_mut().for_each(fold_records);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the fields that readers see of a minimal record.
fn usual_fields() -> Map<String, Value> {
    let Value::Object(mut record) = record("", 0) else { return Map::new() };
    for name in ["id", "startedAt", "finishedAt", "eventCount", "storedEventCount", "events"] {
        record.remove(name);
    }
    record["diagnosis"]["byCategory"] = zero_categories();
    record
}

/// Returns all friction categories with zero counts.
fn zero_categories() -> Value {
    let names = "slow_tool slow_model_turn failed_tool retry setup_install wrap_up budget_hit infra_failure";
    let total = |name: &str| (name.to_owned(), json!({ "count": 0, "durationMs": 0 }));
    Value::Object(names.split(' ').map(total).collect())
}
