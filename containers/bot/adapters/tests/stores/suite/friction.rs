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

pub async fn newest_records_come_oldest_first(fixture: Fixture) {
    let ledger = key(DEFAULT_LEDGER);
    for (run, at, retained) in [("c", 3, 1), ("a", 1, 2), ("b", 2, 3), ("b", 2, 3)] {
        assert_eq!(
            fixture
                .friction
                .record(&ledger, &record(run, at))
                .await
                .unwrap(),
            retained
        );
    }
    assert_eq!(
        fixture
            .friction
            .recent(&key("friction:acme/site"), None, None)
            .await
            .unwrap(),
        []
    );
    let two = fixture
        .friction
        .recent(&ledger, Some(2), None)
        .await
        .unwrap();
    assert_eq!(two, [record("b", 2), record("c", 3)]);
    let since = fixture
        .friction
        .recent(&ledger, None, Some(3))
        .await
        .unwrap();
    assert_eq!(since, [record("c", 3)]);
}
