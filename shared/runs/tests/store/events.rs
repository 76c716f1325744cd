//! `/runs/events`.

use ars_sql::Sql as _;
use serde_json::{Value, json};

use crate::support::{NOW, Store, events, record, store, with};

fn filled() -> Store {
    let store = store();
    store.put(with(
        record("r", NOW),
        json!({ "events": events([1, 2, 4, 8, 16]) }),
    ));
    store
}

fn page(seqs: &[i64], next: Option<i64>) -> Value {
    let page = json!({ "events": events(seqs.iter().copied()) });
    next.map_or(page.clone(), |next| {
        with(page, json!({ "nextAfterSeq": next }))
    })
}

#[test]
fn pages_follow_the_seq_with_a_cursor() {
    let store = filled();
    for (request, expected) in [
        (json!({}), page(&[1, 2, 4, 8, 16], None)),
        (json!({ "afterSeq": 0 }), page(&[1, 2, 4, 8, 16], None)),
        (json!({ "limit": 2 }), page(&[1, 2], Some(2))),
        (json!({ "limit": 2, "afterSeq": 2 }), page(&[4, 8], Some(8))),
        (json!({ "limit": 2, "afterSeq": 3 }), page(&[4, 8], Some(8))),
        (json!({ "limit": 2, "afterSeq": 4 }), page(&[8, 16], None)),
        (json!({ "limit": 5 }), page(&[1, 2, 4, 8, 16], None)),
        (
            json!({ "limit": 5000, "afterSeq": 15.0 }),
            page(&[16], None),
        ),
        (json!({ "afterSeq": 16 }), page(&[], None)),
        (json!({ "afterSeq": 1e300 }), page(&[], None)),
    ] {
        let answer = store.events(with(json!({ "id": "r" }), request.clone()));
        assert_eq!(answer, expected, "{request}");
    }
}

#[test]
fn answer_is_exact() {
    let store = filled();
    let answer = store
        .0
        .events(r#"{"storeKey":"runs:default","id":"r","limit":1}"#, NOW)
        .unwrap();
    assert_eq!(
        answer,
        r#"{"events":[{"type":"x","seq":1}],"nextAfterSeq":1}"#
    );
    assert_eq!(
        store.0.events(r#"{"id":"no"}"#, NOW).unwrap(),
        r#"{"events":null}"#
    );
}

#[test]
fn large_page_ends_by_bytes() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": events(1..=100) })));
    let longer = format!(
        "UPDATE run_events SET event = json_set(event, '$.text', '{}')",
        "x".repeat(60_000)
    );
    store.0.sql().execute(&longer, &[]).unwrap();
    let first = store.events(json!({ "id": "r" }));
    assert_eq!(
        (
            first["events"].as_array().unwrap().len(),
            &first["nextAfterSeq"]
        ),
        (69, &json!(69))
    );
    let second = store.events(json!({ "id": "r", "afterSeq": 69 }));
    assert_eq!(
        (
            second["events"].as_array().unwrap().len(),
            second.get("nextAfterSeq")
        ),
        (31, None)
    );
}

#[test]
fn run_without_events_is_known() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": [] })));
    assert_eq!(store.events(json!({ "id": "r" })), json!({ "events": [] }));
}

#[test]
fn default_and_largest_page_have_a_cursor() {
    let store = store();
    store.put(with(
        record("r", NOW),
        json!({ "events": events(1..=5001) }),
    ));
    for (request, last) in [
        (json!({ "id": "r" }), 1000),
        (json!({ "id": "r", "limit": 5000 }), 5000),
    ] {
        let answer = store.events(request);
        let length = answer["events"].as_array().unwrap().len();
        assert_eq!((length, &answer["nextAfterSeq"]), (last, &json!(last)));
    }
}

#[test]
fn page_of_corrupt_events_has_a_cursor() {
    let store = filled();
    store.execute(
        "UPDATE run_events SET event = 'broken' WHERE seq IN (1, 2)",
        &[],
    );
    assert_eq!(
        store.events(json!({ "id": "r", "limit": 2 })),
        page(&[], Some(2))
    );
    assert_eq!(
        store.events(json!({ "id": "r", "limit": 3 })),
        page(&[4], Some(4))
    );
}

#[test]
fn events_of_runs_are_separate() {
    let store = filled();
    store.put(with(record("r2", NOW), json!({ "events": events([3]) })));
    assert_eq!(store.events(json!({ "id": "r2" })), page(&[3], None));
}
