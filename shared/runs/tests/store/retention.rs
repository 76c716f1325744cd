//! Retention: visible rows, rows deleted by a put, and the newest policy.

use ars_runs::retention::Policy;
use ars_store::Store as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{DAY, NOW, Store, events, record, store, with};

fn put_with(store: &Store, record: Value, policy: Value, at: Value) -> Value {
    store
        .try_put(
            &json!({ "record": record, "policy": policy, "policyUpdatedAt": at }),
            NOW,
        )
        .unwrap()
}

fn stored_policy(store: &Store) -> (f64, f64, f64, f64) {
    use ars_sql::Sql;
    let sql = "SELECT retention_days, max_runs, max_bytes, policy_updated_at FROM retention";
    let row = &store.0.sql().query(sql, &[]).unwrap()[0];
    (
        row.real(0).unwrap(),
        row.real(1).unwrap(),
        row.real(2).unwrap(),
        row.real(3).unwrap(),
    )
}

#[test]
fn a_new_store_has_the_default_policy() {
    let policy = Policy::default();
    let expected = (
        policy.retention_days() as f64,
        policy.max_runs() as f64,
        policy.max_bytes() as f64,
        0.0,
    );
    assert_eq!(stored_policy(&store()), expected);
}

#[test]
fn stamp_without_a_policy_is_ignored() {
    let store = store();
    assert!(
        store
            .try_put(
                &json!({ "record": record("r", NOW), "policyUpdatedAt": "x" }),
                NOW
            )
            .is_ok()
    );
}

#[test]
fn policy_is_clamped_and_filled_with_defaults() {
    let store = store();
    put_with(
        &store,
        record("r", NOW),
        json!({ "retentionDays": 400, "maxBytes": 1 }),
        json!(5),
    );
    assert_eq!(stored_policy(&store), (365.0, 5000.0, 16_777_216.0, 5.0));
    put_with(&store, record("r", NOW), json!({}), json!(6));
    assert_eq!(stored_policy(&store), (30.0, 5000.0, 2_147_483_648.0, 6.0));
}

#[test]
fn newer_policy_wins_and_future_stamps_are_clamped() {
    let store = store();
    let days = |store: &Store| stored_policy(store).0;
    let propose = |days: i64, at: i64| {
        put_with(
            &store,
            record("r", NOW),
            json!({ "retentionDays": days }),
            json!(at),
        );
    };
    propose(5, 0);
    assert_eq!(days(&store), 30.0, "stamp 0 is not newer than the default");
    propose(10, 100);
    assert_eq!(days(&store), 10.0);
    propose(20, 100);
    assert_eq!(days(&store), 10.0, "an equal stamp is not newer");
    propose(20, 99);
    assert_eq!(days(&store), 10.0);
    propose(20, NOW + 365 * DAY);
    assert_eq!(
        (days(&store), stored_policy(&store).3),
        (20.0, NOW as f64),
        "a stamp ahead counts as now"
    );
    let later = json!({ "record": record("r", NOW), "policy": { "retentionDays": 30 }, "policyUpdatedAt": NOW + 1 });
    store.try_put(&later, NOW + 1).unwrap();
    assert_eq!(days(&store), 30.0, "an honest later one still wins");
}

#[test]
fn put_outside_the_policy_leaves_no_row() {
    let store = store();
    let put = store.put(record("old", NOW - 31 * DAY));
    assert_eq!(
        put,
        json!({ "ok": true, "retained": 0, "stored": false, "rewritten": false })
    );
    assert_eq!((store.count("runs"), store.count("run_events")), (0, 0));
    put_with(&store, record("a", NOW), json!({ "maxRuns": 1 }), json!(1));
    let put = store.put(record("b", NOW - 1));
    assert_eq!(
        (&put["stored"], &put["retained"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(store.listed(json!({})), ["a"]);
    // A record that is not stored still brings the policy into force.
    let put = put_with(
        &store,
        record("old", NOW - 5 * DAY),
        json!({ "retentionDays": 4 }),
        json!(2),
    );
    assert_eq!(
        (&put["stored"], stored_policy(&store).0),
        (&json!(false), 4.0)
    );
    // A version that no longer fits deletes the earlier version too.
    let put = store.put(record("a", NOW - 31 * DAY));
    assert_eq!(
        (&put["stored"], &put["rewritten"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(store.count("runs"), 0);
}

#[test]
fn excluded_runs_hide_at_once_and_delete_in_batches() {
    let store = store();
    for n in 0..1_203_i64 {
        store.put(with(
            record(&format!("r{n:04}"), NOW - n),
            json!({ "events": events([1]) }),
        ));
    }
    let put = put_with(
        &store,
        record("r0000", NOW),
        json!({ "maxRuns": 3 }),
        json!(1),
    );
    assert_eq!(
        (&put["retained"], &put["stored"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(
        store.count("runs"),
        703,
        "at most 500 are deleted in one put, the oldest"
    );
    for hidden in ["r0003", "r0702"] {
        assert_eq!(store.get(hidden), Value::Null);
        assert_eq!(
            store.events(json!({ "id": hidden })),
            json!({ "events": null })
        );
    }
    assert_eq!(
        store.listed(json!({ "limit": 200 })),
        ["r0000", "r0001", "r0002"]
    );
    assert_eq!(
        store.listed(json!({ "before": NOW - 2, "beforeId": "r0002" })),
        Vec::<String>::new()
    );
    store.put(record("r0000", NOW));
    assert_eq!((store.count("runs"), store.count("run_events")), (203, 203));
    assert_eq!(store.0.sweep(NOW).unwrap(), 200);
    assert_eq!((store.count("runs"), store.count("run_events")), (3, 3));
    assert_eq!(store.listed(json!({})), ["r0000", "r0001", "r0002"]);
}

#[test]
fn hidden_new_record_is_deleted_first() {
    let store = store();
    for n in 0..600_i64 {
        store.put(record(&format!("r{n:03}"), NOW - 100 - n));
    }
    let put = put_with(
        &store,
        record("mine", NOW - 650),
        json!({ "maxRuns": 1 }),
        json!(1),
    );
    assert_eq!(
        (&put["stored"], &put["retained"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(store.count("runs"), 101, "the record itself and 499 others");
    // It is among the newest hidden rows, beyond the deletion limit.
    let put = store.put(record("mine", NOW - 150));
    assert_eq!(put["stored"], json!(false));
    assert_eq!(store.get("mine"), Value::Null);
}

#[test]
fn expired_runs_hide_until_the_sweep_deletes_them() {
    let store = store();
    store.put(record("r", NOW));
    let edge = NOW + 30 * DAY;
    let listed = |now: i64| store.0.list("{}", now).unwrap() != r#"{"items":[]}"#;
    assert!(listed(edge), "exactly as old as allowed");
    assert!(!listed(edge + 1));
    assert_eq!(
        store.0.get(r#"{"id":"r"}"#, edge + 1).unwrap(),
        r#"{"record":null}"#
    );
    assert_eq!((store.0.sweep(edge).unwrap(), store.count("runs")), (0, 1));
    assert_eq!(
        (
            store.0.sweep(edge + 1).unwrap(),
            store.count("runs"),
            store.count("run_events")
        ),
        (1, 0, 0)
    );
}

#[test]
fn sweep_deletes_only_orphaned_events() {
    let store = store();
    store.put(with(record("b", NOW), json!({ "events": events(1..=3) })));
    for run in ["a", "c", "d"] {
        store.execute(
            "INSERT INTO run_events VALUES (?1, 1, '{\"type\":\"x\"}'), (?1, 2, 'broken')",
            &[run],
        );
    }
    assert_eq!(store.0.sweep(NOW).unwrap(), 0);
    assert_eq!(store.count("run_events"), 3);
    assert_eq!(store.get("b")["events"], events(1..=3));
    let empty = crate::support::store();
    assert_eq!(empty.0.sweep(NOW).unwrap(), 0);
}

#[test]
fn wider_policy_restores_stored_runs() {
    let store = store();
    for n in 0..600_i64 {
        store.put(record(&format!("r{n:03}"), NOW - n));
    }
    put_with(
        &store,
        record("r000", NOW),
        json!({ "maxRuns": 1 }),
        json!(1),
    );
    assert_eq!(store.listed(json!({})).len(), 1);
    put_with(
        &store,
        record("r000", NOW),
        json!({ "maxRuns": 50 }),
        json!(2),
    );
    assert_eq!(store.listed(json!({ "limit": 200 })).len(), 50);
}

/// Returns events for a record with so many bytes.
fn text(bytes: usize) -> Value {
    json!({ "events": [{ "type": "input", "text": "x".repeat(bytes), "seq": 1 }] })
}

#[test]
fn bytes_count_too() {
    let store = store();
    let large = |id: &str, at: i64| with(record(id, at), text(1_500_000));
    for n in 0..12 {
        put_with(
            &store,
            large(&format!("r{n:02}"), NOW - n),
            json!({ "maxBytes": 1 }),
            json!(1),
        );
    }
    // 16 MiB, the policy's lower bound, holds eleven of them.
    assert_eq!(store.listed(json!({})).len(), 11);
    let put = store.put(large("new", NOW + 1));
    assert_eq!(
        (&put["retained"], &put["stored"]),
        (&json!(11), &json!(true))
    );
    assert_eq!(store.listed(json!({ "limit": 2 })), ["new", "r00"]);
}

/// Generates runs by number and age, in put order.
fn history() -> impl Strategy<Value = Vec<(u8, i64, usize)>> {
    prop::collection::vec((0_u8..30, 0_i64..40, 0_usize..3), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_match_the_policy(
        runs in history(), days in 1_i64..40, max_runs in 1_i64..30, later in 0_i64..20,
    ) {
        use ars_runs::retention::{Row, kept};
        let store = store();
        let policy = Policy::fill(Some(days as f64), Some(max_runs as f64), Some(1.0));
        let mut model: Vec<Row> = Vec::new();
        for (number, age, size) in runs {
            let id = format!("r{number}");
            let at = NOW - age * DAY;
            let sent = with(record(&id, at), text(size * 1_000_000));
            let bytes = i64::try_from(sent.to_string().len()).unwrap();
            let put = put_with(&store, sent, json!({ "retentionDays": days, "maxRuns": max_runs, "maxBytes": 1 }), json!(1));
            model.retain(|row| row.id != id);
            model.push(Row { id: id.clone(), finished_at: at as f64, bytes });
            model = kept(model, &policy, NOW);
            prop_assert_eq!(&put["retained"], &json!(model.len()));
            prop_assert_eq!(&put["stored"], &json!(model.iter().any(|row| row.id == id)));
        }
        let at = NOW + later * DAY;
        let visible: Vec<_> = kept(model, &policy, at).into_iter().map(|row| row.id).collect();
        let page = crate::support::parse(&store.0.list(r#"{"limit":200}"#, at).unwrap());
        prop_assert_eq!(crate::support::ids(&page), visible.clone());
        for number in 0..30 {
            let id = format!("r{number}");
            let body = json!({ "id": id }).to_string();
            let known = visible.contains(&id);
            prop_assert_eq!(store.0.get(&body, at).unwrap() != r#"{"record":null}"#, known);
            prop_assert_eq!(store.0.events(&body, at).unwrap() != r#"{"events":null}"#, known);
        }
        store.0.sweep(at).unwrap();
        prop_assert_eq!(store.count("runs"), i64::try_from(visible.len()).unwrap());
    }
}

/// Inserts rows as puts would write them, a second apart, the newest at `NOW`.
fn fill(store: &crate::support::Store, runs: i64) {
    store.execute(
        &format!(
            "INSERT INTO runs SELECT printf('run-%05d', n), {NOW} - ({runs} - n) * 1000, 1, 1000, '', 'C1', 'U1', \
             '', 'unknown', {NOW}, json_object('id', printf('run-%05d', n)), 0, NULL FROM \
             (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {runs}) SELECT n FROM c)"
        ),
        &[],
    );
    store.execute(
        "INSERT INTO run_events SELECT id, 1, '{\"type\":\"x\"}' FROM runs",
        &[],
    );
}

#[test]
fn twenty_thousand_runs_are_trimmed_in_batches() {
    let store = store();
    let largest = json!({ "retentionDays": 365, "maxRuns": 20_000 });
    let put = |id: &str, policy: &Value, at: i64| {
        let body =
            json!({ "record": record(id, NOW + at), "policy": policy, "policyUpdatedAt": at });
        store.try_put(&body, NOW + at).unwrap()
    };
    fill(&store, 20_000);
    // One over the limit: the put deletes the oldest.
    assert_eq!(put("new-1", &largest, 1)["retained"], 20_000);
    assert_eq!(
        (store.count("runs"), store.get("run-00001")),
        (20_000, Value::Null)
    );

    // Most of them over the count limit: hidden in the same response, deleted 500 at a time.
    let fewer = json!({ "retentionDays": 365, "maxRuns": 5000 });
    assert_eq!(put("new-2", &fewer, 2)["retained"], 5000);
    assert_eq!(store.count("runs"), 20_001 - 500);
    assert_eq!(
        (store.get("run-15002"), store.get("run-15003")["id"].clone()),
        (Value::Null, json!("run-15003"))
    );
    assert_eq!(put("new-3", &fewer, 3)["retained"], 5000);
    assert_eq!(
        (store.count("runs"), store.count("run_events")),
        (19_502 - 500, 19_502 - 500)
    );

    // By bytes: the newest rows that fit remain.
    let smaller = json!({ "retentionDays": 365, "maxRuns": 20_000, "maxBytes": 16 * 1024 * 1024 });
    store.execute("UPDATE runs SET bytes = 1048576 WHERE id < 'run'", &[]);
    store.execute(
        "UPDATE retention SET run_bytes = (SELECT sum(bytes) FROM runs)",
        &[],
    );
    // Beside three records with 1 MiB and the record just put, 13 MiB less its few bytes hold
    // 13,631 records with 1,000 bytes.
    assert_eq!(put("new-4", &smaller, 4)["retained"], 4 + 13_631);

    // By age, with the clock alone.
    let day = json!({ "retentionDays": 1, "maxRuns": 20_000 });
    put("new-5", &day, 5);
    assert_eq!(
        store
            .try_list(&json!({}))
            .map(|page| page["items"].as_array().unwrap().len()),
        Ok(50)
    );
    let later = store.0.list("{}", NOW + 2 * DAY).unwrap();
    assert_eq!(later, r#"{"items":[]}"#);
    // A sweep is bounded too.
    let left = store.count("runs");
    let sweeps = std::iter::repeat_with(|| store.0.sweep(NOW + 2 * DAY).unwrap())
        .take_while(|&deleted| deleted > 0);
    let sweeps: Vec<_> = sweeps.collect();
    assert!(
        sweeps.iter().rev().skip(1).all(|&deleted| deleted == 1000)
            && sweeps.iter().sum::<i64>() == left
    );
    assert_eq!((store.count("runs"), store.count("run_events")), (0, 0));
}
