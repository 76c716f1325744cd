//! `/runs/put`.

use ars_runs::RunStore;
use ars_sql::{Row, Sql, SqlError, Value as Bound};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_store::StoreFailure;
use serde_json::{Value, json};

use crate::support::{DAY, NOW, events, record, refusal, store, with};

#[test]
fn first_put_answer_is_exact() {
    let body = json!({ "storeKey": "runs:default", "record": record("r1", NOW) }).to_string();
    assert_eq!(
        store().0.put(&body, NOW).unwrap(),
        r#"{"ok":true,"retained":1,"stored":true,"rewritten":false}"#
    );
}

#[test]
fn body_and_record_must_be_objects() {
    let store = store();
    for body in ["", "{", "null", "[]", "\"x\"", "1", "{\"record\":1e400}"] {
        let refusal = refusal(store.0.put(body, NOW));
        assert!(
            refusal.to_string().starts_with("body "),
            "{body}: {refusal}"
        );
    }
    for body in ["{}", r#"{"record":null}"#, r#"{"record":[]}"#] {
        assert!(
            refusal(store.0.put(body, NOW))
                .to_string()
                .starts_with("record must"),
            "{body}"
        );
    }
}

#[test]
fn unchecked_fields_are_accepted() {
    let store = store();
    for (id, changes) in [
        (
            "empty-texts",
            json!({ "channelId": "", "userId": "", "threadKey": "" }),
        ),
        (
            "counts-that-disagree",
            json!({ "storedEventCount": 7, "eventCount": -2.5, "truncated": true }),
        ),
        (
            "finished-before-it-started",
            json!({ "startedAt": NOW, "finishedAt": NOW - 5 }),
        ),
        (
            "unknown-kinds",
            json!({ "events": [{ "type": "of a later age", "x": [1, { "y": null }] }] }),
        ),
        (
            "unknown-fields",
            json!({ "later": { "a": 1 }, "bytes": "mine" }),
        ),
        (
            "optional-fields",
            json!({ "label": "", "stepCount": 3.0, "schema": 2, "replyOk": false, "repo": "o/n" }),
        ),
    ] {
        let put = store.put(with(record(id, NOW), changes));
        assert_eq!(put["stored"], true, "{id}");
        assert_eq!(store.get(id)["id"], id);
    }
    let kept = store.get("unknown-fields");
    assert_eq!(
        (&kept["later"], &kept["bytes"]),
        (&json!({ "a": 1 }), &json!("mine"))
    );
    assert_eq!(
        store.get("unknown-kinds")["events"][0]["x"],
        json!([1, { "y": null }])
    );
}

#[test]
fn put_of_another_version_is_a_rewrite() {
    let store = store();
    let first = record("r", NOW);
    assert_eq!(store.put(first.clone())["rewritten"], false);
    assert_eq!(
        store.put(first.clone())["rewritten"],
        false,
        "the same again"
    );
    for changes in [
        json!({ "eventCount": 2 }),
        json!({ "finishedAt": NOW - 1, "eventCount": 2 }),
        json!({ "finishedAt": NOW - 1, "eventCount": 2, "label": "longer" }),
    ] {
        let put = store.put(with(first.clone(), changes.clone()));
        assert_eq!(
            (&put["rewritten"], &put["retained"]),
            (&json!(true), &json!(1)),
            "{changes}"
        );
    }
    assert_eq!(store.count("runs"), 1);
}

#[test]
fn equal_version_keeps_events_and_replaces_row() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "label": "aaaa" })));
    let same_size =
        json!({ "label": "bbbb", "events": [{ "type": "input", "text": "HELLO", "seq": 1 }] });
    assert_eq!(
        store.put(with(record("r", NOW), same_size))["rewritten"],
        false
    );
    let kept = store.get("r");
    assert_eq!(
        (&kept["label"], &kept["events"][0]["text"]),
        (&json!("bbbb"), &json!("hello"))
    );
}

#[test]
fn final_record_replaces_its_tombstone() {
    let store = store();
    let tombstone = json!({ "status": "interrupted", "events": events(1..=9), "eventCount": 9, "label": "gone" });
    store.put(with(record("r", NOW - 5), tombstone));
    let put = store.put(with(record("r", NOW), json!({ "events": events([1, 2]) })));
    assert_eq!(put["rewritten"], true);
    let kept = store.get("r");
    assert_eq!(
        (&kept["status"], &kept["finishedAt"]),
        (&json!("completed"), &json!(NOW))
    );
    assert_eq!(kept["events"], events([1, 2]));
    assert_eq!(kept.get("label"), None);
    assert_eq!(store.count("run_events"), 2);
}

#[test]
fn far_future_times_are_clamped() {
    let store = store();
    let far = NOW + 10 * DAY;
    store.put(with(
        record("far", far),
        json!({ "receivedAt": far, "sealedAt": NOW + DAY, "startedAt": far }),
    ));
    let kept = store.get("far");
    let read = |name: &str| kept[name].as_i64().unwrap();
    assert_eq!(
        (read("finishedAt"), read("receivedAt"), read("sealedAt")),
        (NOW + DAY, NOW + DAY, NOW + DAY)
    );
    assert_eq!(
        read("startedAt"),
        far,
        "only the times that place a run in lists are pulled back"
    );
    store.put(record("near", NOW + DAY));
    assert_eq!(store.get("near")["finishedAt"], NOW + DAY);
    assert_eq!(
        store.listed(json!({})),
        ["near", "far"],
        "equal times go by id"
    );
}

#[test]
fn only_positive_ascending_seqs_are_kept() {
    for (given, kept) in [
        (vec![json!(2), json!(5), json!(9)], vec![2, 5, 9]),
        (vec![json!(2.0), json!(1e1)], vec![2, 10]),
        (vec![json!(3), json!(3)], vec![1, 2]),
        (vec![json!(2), json!(1)], vec![1, 2]),
        (vec![json!(1), Value::Null, json!(3)], vec![1, 2, 3]),
        (vec![json!(0), json!(1)], vec![1, 2]),
        (vec![json!(-1), json!(4)], vec![1, 2]),
        (vec![json!(1.5), json!(4)], vec![1, 2]),
        (vec![json!("7"), json!(8)], vec![1, 2]),
        (
            vec![json!(9_007_199_254_740_991_i64)],
            vec![9_007_199_254_740_991_i64],
        ),
        (vec![json!(9_007_199_254_740_992_i64)], vec![1]),
        (vec![], vec![]),
    ] {
        let store = store();
        let events: Vec<_> = given
            .iter()
            .map(|seq| json!({ "type": "x", "seq": seq }))
            .collect();
        store.put(with(record("r", NOW), json!({ "events": events })));
        let read = store.events(json!({ "id": "r" }));
        let seqs: Vec<_> = read["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["seq"].as_f64().unwrap())
            .collect();
        assert_eq!(
            seqs,
            kept.iter().map(|seq| *seq as f64).collect::<Vec<_>>(),
            "{given:?}"
        );
    }
    // An event without any seq gets a seq.
    let store = store();
    store.put(with(
        record("r", NOW),
        json!({ "events": [{ "type": "a" }, { "type": "b" }] }),
    ));
    assert_eq!(
        store.get("r")["events"],
        json!([{ "type": "a", "seq": 1 }, { "type": "b", "seq": 2 }])
    );
}

#[test]
fn bytes_is_the_serialized_record_size() {
    let store = store();
    for (id, changes) in [
        ("none", json!({ "events": [] })),
        ("one", json!({})),
        (
            "many",
            json!({ "events": events(1..=100), "label": "é🦀\n" }),
        ),
    ] {
        let sent = with(record(id, NOW), changes);
        store.put(sent.clone());
        let items = store.list(json!({}));
        let item = items["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"] == id)
            .unwrap();
        assert_eq!(item["bytes"], sent.to_string().len(), "{id}");
    }
}

#[test]
fn record_with_many_events_is_complete() {
    let store = store();
    let events: Vec<_> = (1..=2_000)
        .map(|seq| json!({ "type": "x", "text": "y".repeat(900), "seq": seq }))
        .collect();
    let sent = with(record("r", NOW), json!({ "events": events }));
    assert!(sent.to_string().len() > 1_800_000, "more than one batch");
    store.put(sent.clone());
    assert_eq!(store.get("r")["events"], sent["events"]);
}

#[test]
fn largest_body_is_stored_and_read() {
    const FENCE: usize = 2_097_152;
    let store = store();
    let one = |bytes: usize| {
        with(
            record("one", NOW),
            json!({ "events": [{ "type": "x", "text": "y".repeat(bytes), "seq": 1 }] }),
        )
    };
    let body = |record: Value| json!({ "storeKey": "runs:default", "record": record }).to_string();
    let largest = one(FENCE - body(one(0)).len());
    assert_eq!(body(largest.clone()).len(), FENCE);
    store.put(largest.clone());
    assert_eq!(store.get("one")["events"], largest["events"]);
    assert_eq!(
        store.events(json!({ "id": "one" }))["events"],
        largest["events"]
    );
    let tiny: Vec<_> = (1..=70_000)
        .map(|seq| json!({ "type": "", "seq": seq }))
        .collect();
    let tiny = with(record("tiny", NOW), json!({ "events": tiny }));
    assert!(body(tiny.clone()).len() < FENCE);
    store.put(tiny.clone());
    assert_eq!(store.get("tiny")["events"], tiny["events"]);
}

#[test]
fn part_beside_events_is_limited() {
    let store = store();
    let of = |bytes: usize| with(record("r", NOW), json!({ "label": "y".repeat(bytes) }));
    let without_events = |mut record: Value| {
        record.as_object_mut().unwrap().shift_remove("events");
        record.to_string().len()
    };
    let largest = 65_536 - without_events(of(0));
    store.put(of(largest));
    let refused = refusal(store.try_put(&json!({ "record": of(largest + 1) }), NOW));
    let text = refused.to_string();
    assert_eq!(
        text,
        "record.label must be shorter: a record has at most 65536 bytes without its events"
    );
    assert_eq!(
        store.get("r")["label"].as_str().map(str::len),
        Some(largest)
    );
}

#[test]
fn text_that_outgrows_a_row_is_rejected() {
    let store = store();
    // `1e5` is three characters as sent and `100000.0` when serialized again.
    let numbers = format!("[{}]", vec!["1e5"; 400_000].join(","));
    let body = json!({ "record": with(record("r", NOW), json!({ "x": "HERE" })) }).to_string();
    let refused = refusal(store.0.put(&body.replace("\"HERE\"", &numbers), NOW));
    assert!(
        refused.to_string().starts_with("record.x must be shorter"),
        "{refused}"
    );
    let body = json!({ "record": with(record("r", NOW), json!({ "events": [{ "type": "x", "x": "HERE" }] })) });
    let refused = refusal(
        store
            .0
            .put(&body.to_string().replace("\"HERE\"", &numbers), NOW),
    );
    assert!(
        refused
            .to_string()
            .starts_with("record.events[0] must have"),
        "{refused}"
    );
}

/// Fails the nth statement inside a transaction.
struct Failing {
    sql: NativeSql,
    left: std::cell::Cell<Option<usize>>,
}

impl Sql for &Failing {
    type Text = String;

    fn text(&self, sql: &str, params: &[ars_sql::Value]) -> Result<Option<String>, SqlError> {
        self.sql.text(sql, params)
    }

    fn each(
        &self,
        sql: &str,
        params: &[Bound],
        row: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        match self.left.get() {
            Some(0) => return Err(SqlError::Engine("the disk is full".into())),
            Some(left) => self.left.set(Some(left - 1)),
            None => {}
        }
        self.sql.each(sql, params, row)
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.sql.transaction(body)
    }
}

#[test]
fn put_failing_at_any_statement_changes_nothing() {
    let failing = Failing {
        sql: NativeSql::in_memory().unwrap(),
        left: std::cell::Cell::new(None),
    };
    let store = RunStore::open(&failing).unwrap();
    let body = |record: Value, days: i64, at: i64| {
        json!({ "record": record, "policy": { "retentionDays": days, "maxRuns": 2 }, "policyUpdatedAt": at })
            .to_string()
    };
    store
        .put(&body(record("old", NOW - DAY), 9, 1), NOW)
        .unwrap();
    store.put(&body(record("r", NOW), 9, 1), NOW).unwrap();
    let state = || {
        let all = |sql: &str| failing.sql.query(sql, &[]).unwrap();
        (
            all("SELECT * FROM runs"),
            all("SELECT * FROM run_events"),
            all("SELECT * FROM retention"),
        )
    };
    let before = state();
    let change = body(
        with(record("new", NOW), json!({ "events": events(1..=3) })),
        3,
        2,
    );
    let mut failures = 0;
    loop {
        failing.left.set(Some(failures));
        let put = store.put(&change, NOW);
        failing.left.set(None);
        if put.is_ok() {
            break;
        }
        assert!(matches!(put, Err(StoreFailure::Fault(_))));
        assert_eq!(state(), before, "after failing at statement {failures}");
        failures += 1;
    }
    assert!(
        failures >= 10,
        "the put has at least its ten statements, {failures} were failed"
    );
    assert_ne!(state(), before);
}

#[test]
fn put_repairs_wrong_totals() {
    let store = store();
    store.put(record("one", NOW));
    store.execute("UPDATE retention SET run_count = 9000, run_bytes = 9", &[]);
    assert_eq!(store.put(record("two", NOW))["stored"], true);
    assert_eq!(store.put(record("three", NOW))["retained"], 3);
}
