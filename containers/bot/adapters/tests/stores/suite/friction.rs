//! Friction ledgers, whichever store they are in.

use ars_wire::friction::{DEFAULT_LEDGER, FrictionRecord};
use serde_json::json;

use super::{Fixture, key};

fn record(run: &str, finished_at: i64) -> FrictionRecord {
    FrictionRecord {
        run_id: run.into(),
        finished_at,
        label: Some("a run 🦀".into()),
        agent: None,
        diagnosis: json!({ "findings": [], "eventCount": 1, "verdict": "fine", "byCategory": {}, "later": 1 }),
    }
}

pub async fn last_record_of_a_run_counts(fixture: Fixture) {
    let ledger = key(DEFAULT_LEDGER);
    assert_eq!(fixture.friction.record(&ledger, &record("r1", 5)).await.unwrap(), 1);
    assert_eq!(fixture.friction.record(&ledger, &record("r2", 6)).await.unwrap(), 2);
    assert_eq!(fixture.friction.record(&ledger, &record("r1", 7)).await.unwrap(), 2);
    let kept = fixture.friction.recent(&ledger, None, None).await.unwrap();
    assert_eq!(kept, [record("r2", 6), record("r1", 7)]);
}

pub async fn newest_records_come_oldest_first(fixture: Fixture) {
    let ledger = key(DEFAULT_LEDGER);
    for (run, at) in [("c", 3), ("a", 1), ("b", 2)] {
        fixture.friction.record(&ledger, &record(run, at)).await.unwrap();
    }
    let two = fixture.friction.recent(&ledger, Some(2), None).await.unwrap();
    assert_eq!(two, [record("b", 2), record("c", 3)]);
    let since = fixture.friction.recent(&ledger, None, Some(3)).await.unwrap();
    assert_eq!(since, [record("c", 3)]);
}

pub async fn ledgers_are_separate(fixture: Fixture) {
    let (one, other) = (key("friction:acme/app"), key("friction:acme/site"));
    fixture.friction.record(&one, &record("r1", 5)).await.unwrap();
    assert_eq!(fixture.friction.recent(&other, None, None).await.unwrap(), []);
    assert_eq!(fixture.friction.record(&other, &record("r1", 6)).await.unwrap(), 1);
    assert_eq!(fixture.friction.recent(&one, None, None).await.unwrap(), [record("r1", 5)]);
}
