//! `/runs/events`.

use serde_json::{Value, json};

use crate::support::{NOW, Store, events, record, refusal, store, with};

fn filled() -> Store {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": events([1, 2, 4, 8, 16]) })));
    store
}

fn page(seqs: &[i64], next: Option<i64>) -> Value {
    let page = json!({ "events": events(seqs.iter().copied()) });
    next.map_or(page.clone(), |next| with(page, json!({ "nextAfterSeq": next })))
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
        (json!({ "limit": 5000, "afterSeq": 15.0 }), page(&[16], None)),
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
    let answer = store.0.events(r#"{"storeKey":"runs:default","id":"r","limit":1}"#, NOW).unwrap();
    assert_eq!(answer, r#"{"events":[{"type":"x","seq":1}],"nextAfterSeq":1}"#);
    assert_eq!(store.0.events(r#"{"id":"no"}"#, NOW).unwrap(), r#"{"events":null}"#);
}

#[test]
fn run_without_events_is_known() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": [] })));
    assert_eq!(store.events(json!({ "id": "r" })), json!({ "events": [] }));
}

#[test]
fn default_page_has_a_thousand_events() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": events(1..=1001) })));
    let answer = store.events(json!({ "id": "r" }));
    assert_eq!((answer["events"].as_array().unwrap().len(), &answer["nextAfterSeq"]), (1000, &json!(1000)));
}

#[test]
fn bounds_are_refused_by_name() {
    let store = filled();
    for (request, named) in [
        (json!({ "limit": 0 }), "limit "),
        (json!({ "limit": 5001 }), "limit "),
        (json!({ "limit": 1.5 }), "limit "),
        (json!({ "limit": "5" }), "limit "),
        (json!({ "limit": null }), "limit "),
        (json!({ "afterSeq": -1 }), "afterSeq "),
        (json!({ "afterSeq": 0.5 }), "afterSeq "),
        (json!({ "afterSeq": "0" }), "afterSeq "),
        (json!({ "id": "a b" }), "id "),
    ] {
        let refused = refusal(store.try_events(&with(json!({ "id": "r" }), request.clone())));
        assert!(refused.to_string().starts_with(named) && refused.status() == 400, "{request}: {refused}");
    }
}

#[test]
fn page_of_corrupt_events_has_a_cursor() {
    let store = filled();
    store.execute("UPDATE run_events SET event = 'broken' WHERE seq IN (1, 2)", &[]);
    assert_eq!(store.events(json!({ "id": "r", "limit": 2 })), page(&[], Some(2)));
    assert_eq!(store.events(json!({ "id": "r", "limit": 3 })), page(&[4], Some(4)));
}

#[test]
fn events_of_runs_are_separate() {
    let store = filled();
    store.put(with(record("r2", NOW), json!({ "events": events([3]) })));
    assert_eq!(store.events(json!({ "id": "r2" })), page(&[3], None));
}
