//! Tests `/forget`.

use serde_json::json;

use ars_memory::RETIRED_MAX_AGE_MS;
use ars_store::Store as _;
use ars_wire::state::MemoryVerb;

use crate::support::{NOW, candidate, id, ids, store, superseding};

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
    for other in [
        "mem:org:acme:1",
        "mem:org:other:0",
        "mem:org:acme:00",
        "mem:org:acme",
        "0",
        "x",
        "mem:org:acme:-0",
    ] {
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
    assert_eq!(
        (ids(&listed), &listed[0]["useCount"]),
        (vec![id(1).as_str()], &json!(0))
    );
}

#[test]
fn read_arms_the_sweep_of_retired_text() {
    let store = store();
    store.write_texts(&["alpha"]);
    let arms = |verb| store.0.arms_sweep(verb);
    assert_eq!(
        [MemoryVerb::List, MemoryVerb::Retrieve].map(arms),
        [false, false]
    );
    store.forget(&id(0));
    assert_eq!(
        [MemoryVerb::List, MemoryVerb::Retrieve].map(arms),
        [true, true]
    );
    store.0.sweep(NOW + RETIRED_MAX_AGE_MS).unwrap();
    assert_eq!(
        [MemoryVerb::List, MemoryVerb::Forget].map(arms),
        [false, true]
    );
}

/// Covers superseded records too. One record is active, and another is younger than the window.
#[test]
fn text_is_purged_after_the_window() {
    let store = store();
    store.write_texts(&["forgotten", "replaced", "unused", "kept"]);
    store.rows(
        "UPDATE memory_records SET retired_at = NULL, status = 'forgotten' WHERE n = 2",
        &[],
    );
    store.forget(&id(0));
    store.write_at(
        json!({ "records": [superseding("newer", &id(1))] }),
        NOW + 1,
    );
    let texts = || {
        let rows = store.rows(
            "SELECT n, record ->> 'text' FROM memory_records ORDER BY n",
            &[],
        );
        rows.iter()
            .map(|row| row.text(1).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let sweep = |at: i64| store.0.sweep(at).unwrap();
    assert_eq!(sweep(NOW + RETIRED_MAX_AGE_MS - 1), 0);
    assert_eq!(
        texts(),
        ["forgotten", "replaced", "unused", "kept", "newer"]
    );
    assert_eq!(sweep(NOW + RETIRED_MAX_AGE_MS), 2);
    assert_eq!(texts(), ["", "replaced", "", "kept", "newer"]);
    assert_eq!(
        (
            sweep(NOW + RETIRED_MAX_AGE_MS + 1),
            sweep(NOW + RETIRED_MAX_AGE_MS + 1)
        ),
        (1, 0)
    );
    assert_eq!(store.write(&[candidate("forgotten")]), [1, 0, 0, 0]);
    assert_eq!(ids(&store.list(json!({}))), [id(5), id(4), id(3)]);
}
