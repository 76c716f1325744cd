//! Random records, compared with a map that is sorted for every answer.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use crate::support::{record, store, with};

/// Records by run, within the bound.
#[derive(Default)]
struct Model(BTreeMap<String, (i64, Value)>);

impl Model {
    fn record(&mut self, run: &str, at: i64, record: &Value) -> usize {
        self.0.insert(run.to_owned(), (at, record.clone()));
        while self.0.len() > 500 {
            let oldest = self.sorted()[0].1.to_owned();
            self.0.remove(&oldest);
        }
        self.0.len()
    }

    /// Returns the rows, oldest first.
    fn sorted(&self) -> Vec<(i64, &str, &Value)> {
        let mut all: Vec<_> = self
            .0
            .iter()
            .map(|(run, (at, record))| (*at, run.as_str(), record))
            .collect();
        all.sort_by_key(|(at, run, _)| (*at, *run));
        all
    }

    fn recent(&self, limit: usize, since: i64) -> Value {
        let all: Vec<_> = self
            .sorted()
            .into_iter()
            .filter(|(at, ..)| *at >= since)
            .collect();
        let newest = &all[all.len().saturating_sub(limit)..];
        json!({ "records": newest.iter().map(|(.., record)| record).collect::<Vec<_>>() })
    }
}

/// Generates few records, or enough to overflow a ledger.
fn records() -> impl Strategy<Value = Vec<(String, i64)>> {
    let one = || ("[a-c]{1,2}", 0..9_i64);
    let few = vec(one(), 0..40);
    let many = (0..9_i64, 480..520_i64).prop_map(|(at, count)| {
        (0..count)
            .map(|nth| (format!("r{:03}", nth * 7 % count), at + nth % 3))
            .collect()
    });
    (prop_oneof![3 => Just(Vec::new()), 1 => many], few)
        .prop_map(|(many, few): (Vec<_>, Vec<_>)| many.into_iter().chain(few).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn recent_matches_the_model(
        records in records(),
        questions in vec((1..=600_usize, 0..10_i64), 4),
    ) {
        let (store, mut model) = (store(), Model::default());
        for (nth, (run, at)) in records.into_iter().enumerate() {
            let record = with(&record(&run, at as f64), &json!({ "label": nth.to_string() }));
            prop_assert_eq!(store.record(&record), model.record(&run, at, &record) as i64);
        }
        prop_assert_eq!(store.recent(&json!({})), model.recent(500, i64::MIN));
        for (limit, since) in questions {
            let options = json!({ "limit": limit, "sinceMs": since });
            prop_assert_eq!(store.recent(&options), model.recent(limit, since));
        }
    }
}
