//! Tests of `/forget`.

use serde_json::json;

use crate::support::{candidate, id, ids, store};

#[test]
fn record_is_forgotten_once() {
    let store = store();
    store.write_texts(&["alpha", "beta"]);
    assert!(store.forget(&id(0)));
    assert!(!store.forget(&id(0)));
    assert_eq!(ids(&store.list(json!({}))), [id(1)]);
    store.assert_index_in_step();
}

#[test]
fn unknown_id_forgets_no_record() {
    let store = store();
    store.write_texts(&["alpha"]);
    for other in
        ["mem:org:acme:1", "mem:org:other:0", "mem:org:acme:00", "mem:org:acme", "0", "x", "mem:org:acme:-0"]
    {
        assert!(!store.forget(other), "{other}");
    }
    assert_eq!(store.list(json!({})).len(), 1);
}

#[test]
fn restating_a_forgotten_text_inserts_it() {
    let store = store();
    store.write_texts(&["alpha"]);
    store.forget(&id(0));
    assert_eq!(store.write(&[candidate("alpha")]), [1, 0, 0, 0]);
    let listed = store.list(json!({}));
    assert_eq!((ids(&listed), &listed[0]["useCount"]), (vec![id(1).as_str()], &json!(0)));
}

#[test]
fn forgotten_row_stays() {
    let store = store();
    store.write_texts(&["alpha"]);
    store.forget(&id(0));
    let rows = store.rows("SELECT status, record ->> 'text' FROM memory_records", &[]);
    assert_eq!((rows[0].text(0), rows[0].text(1)), (Ok("forgotten"), Ok("alpha")));
}
