//! Tests `/friction/recent`.

use serde_json::json;

use ars_store::Store as _;
use ars_wire::{
    friction::RecentResponse,
    state::FrictionVerb::{Recent, Record},
};

use crate::support::{LEDGER, record, store, with};

#[test]
fn unknown_ledger_is_empty() {
    let store = store();
    store.record(&record("a", 1.0));
    let answer = store
        .ask(Recent, &json!({ "ledgerKey": "friction:never/seen" }))
        .unwrap();
    assert_eq!(answer, json!({ "records": [] }));
}

#[test]
fn recent_returns_the_newest_oldest_first() {
    let store = store();
    for (run, at) in [("c", 3.0), ("a", 1.0), ("e", 3.5), ("b", 2.0), ("d", 3.0)] {
        store.record(&record(run, at));
    }
    for (options, expected) in [
        (json!({}), "abcde"),
        (json!({ "limit": 1 }), "e"),
        (json!({ "limit": 3 }), "cde"),
        (json!({ "limit": 2.0 }), "de"),
        (json!({ "limit": 1000 }), "abcde"),
        (json!({ "sinceMs": 3 }), "cde"),
        (json!({ "sinceMs": 3.25 }), "e"),
        (json!({ "sinceMs": 0 }), "abcde"),
        (json!({ "sinceMs": 3, "limit": 2 }), "de"),
        (json!({ "sinceMs": 3.6 }), ""),
        (json!({ "sinceMs": 1e300 }), ""),
    ] {
        assert_eq!(store.runs(&options).concat(), expected, "{options}");
    }
}

#[test]
fn times_before_the_epoch_are_returned() {
    let store = store();
    store.record(&record("a", -1e300));
    assert_eq!(store.runs(&json!({})), ["a"]);
    assert!(store.runs(&json!({ "sinceMs": 0 })).is_empty());
}

#[test]
fn record_is_returned_unchanged() {
    let store = store();
    let given = r#"{"later":[1.5,"ünd \u0001"],"diagnosis":{"verdict":"\"so\"","byCategory":{"x":{}},"findings":[],"eventCount":2},"finishedAt":1700000000000.5,"runId":"r 1","agent":"coding"}"#;
    let body = format!(r#" {{ "record": {given}, "ledgerKey": "{LEDGER}" }} "#);
    assert_eq!(
        store.0.answer(Record, &body, 0).unwrap(),
        r#"{"ok":true,"retained":1}"#
    );
    let answer = store
        .0
        .answer(Recent, &json!({ "ledgerKey": LEDGER }).to_string(), 0)
        .unwrap();
    assert_eq!(answer, format!(r#"{{"records":[{given}]}}"#));
    let read: RecentResponse = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (read.records[0].run_id.as_str(), read.records[0].finished_at),
        ("r 1", 1_700_000_000_001)
    );
}

#[test]
fn unreadable_row_is_skipped() {
    let store = store();
    for (run, at) in [("a", 1.0), ("b", 2.0), ("c", 3.0)] {
        store.record(&record(run, at));
    }
    store.execute(
        "UPDATE friction_records SET record = substr(record, 1, 20) WHERE run_id = ?",
        &["b"],
    );
    assert_eq!(store.runs(&json!({})), ["a", "c"]);
    assert_eq!(store.runs(&json!({ "limit": 2 })), ["a", "c"]);
}

#[test]
fn largest_full_ledger_is_returned() {
    let store = store();
    let label = "x".repeat(65_000);
    let mut runs: Vec<_> = (0..500).map(|nth| format!("r{nth:03}")).collect();
    for run in &runs {
        store.record(&with(&record(run, 1.0), &json!({ "label": label })));
    }
    assert_eq!(store.runs(&json!({})), runs);
    assert_eq!(store.runs(&json!({ "limit": 40 })), runs.split_off(460));
}
