//! Tests `/schedules/record`.

use serde_json::{Value, json};

use crate::support::{firing, store, with};

#[test]
fn a_firing_is_kept_and_counted_by_schedule() {
    let store = store();
    assert_eq!(
        store.record(&firing("a", 1.0)),
        json!({ "ok": true, "retained": 1 })
    );
    assert_eq!(
        store.record(&firing("a", 2.0)),
        json!({ "ok": true, "retained": 2 })
    );
    assert_eq!(
        store.record(&firing("b", 1.0)),
        json!({ "ok": true, "retained": 1 })
    );
}

#[test]
fn of_one_schedule_the_newest_hundred_are_kept() {
    let store = store();
    store.record(&firing("other", 0.0));
    for nth in 0..100 {
        assert_eq!(store.record(&firing("a", 10.0))["retained"], nth + 1);
    }
    assert_eq!(store.record(&firing("a", 10.0))["retained"], 100);
    assert_eq!(store.count(), 101);
}

#[test]
fn oldest_firing_is_deleted_beyond_the_limit() {
    let store = store();
    let kept = || {
        let rows = ars_sql::Sql::query(
            store.0.sql(),
            "SELECT firing FROM firings ORDER BY nth",
            &[],
        )
        .unwrap();
        let detail = |row: &ars_sql::Row| {
            let firing: Value = serde_json::from_str(row.text(0).unwrap()).unwrap();
            firing["detail"].as_str().unwrap().to_owned()
        };
        rows.iter().map(detail).collect::<Vec<_>>()
    };
    let told = |at: f64, detail: &str| with(&firing("a", at), &json!({ "detail": detail }));
    for nth in 0..100 {
        store.record(&told(5.0, &nth.to_string()));
    }
    assert_eq!(store.record(&told(4.0, "late"))["retained"], 100);
    assert!(!kept().contains(&"late".to_owned()));
    assert_eq!(store.record(&told(5.0, "again"))["retained"], 100);
    assert_eq!(kept()[0], "1");
    assert_eq!(kept()[99], "again");
}
