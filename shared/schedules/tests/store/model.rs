//! Random firings against a list that is sorted for every answer.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use crate::support::{store, with};

/// All firings ever written, in write order.
#[derive(Default)]
struct Model(Vec<(String, i64, Value)>);

impl Model {
    /// Returns a schedule's firings, oldest first; among equal times, the write order stays.
    fn firings(&self, schedule: &str) -> Vec<(i64, Value)> {
        let own = self.0.iter().filter(|(name, ..)| name == schedule);
        let mut own: Vec<_> = own.map(|(_, at, firing)| (*at, firing.clone())).collect();
        own.sort_by_key(|(at, _)| *at);
        own
    }

    fn latest(&self) -> Value {
        let mut names: Vec<_> = self.0.iter().map(|(name, ..)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let newest = names
            .iter()
            .filter_map(|name| self.firings(name).pop())
            .map(|(_, firing)| firing);
        json!({ "firings": newest.collect::<Vec<_>>() })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn newest_firing_is_independent_of_arrival_order(
        firings in vec((prop_oneof![8 => Just("a"), 1 => Just("b"), 1 => Just("ab")], 0..60_i64), 0..260),
    ) {
        let (store, mut model) = (store(), Model::default());
        for (nth, (schedule, at)) in firings.into_iter().enumerate() {
            let firing = json!({ "schedule": schedule, "firedAt": at, "outcome": "no-run" });
            let firing = with(&firing, &json!({ "detail": nth.to_string() }));
            let answer = store.record(&firing);
            model.0.push((schedule.to_owned(), at, firing));
            prop_assert_eq!(&answer["retained"], model.firings(schedule).len().min(100));
            let latest: Value = serde_json::from_str(&store.latest()).unwrap();
            prop_assert_eq!(latest, model.latest());
        }
        for schedule in ["a", "ab", "b"] {
            let mut expected = model.firings(schedule);
            expected.drain(..expected.len().saturating_sub(100));
            let statement = "SELECT firing FROM firings WHERE schedule = ? ORDER BY fired_at, nth";
            let rows = ars_sql::Sql::query(store.0.sql(), statement, &[schedule.into()]).unwrap();
            let kept: Vec<Value> = rows.iter().map(|row| serde_json::from_str(row.text(0).unwrap()).unwrap()).collect();
            prop_assert_eq!(kept, expected.into_iter().map(|(_, firing)| firing).collect::<Vec<_>>());
        }
    }
}
