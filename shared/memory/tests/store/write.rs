//! Tests `/write`.

use ars_wire::state::MemoryVerb;
use serde_json::{Value, json};

use crate::support::{NOW, Store, candidate, id, ids, refusal, store, superseding, texts, with};

/// Returns ids and use counts, newest first.
fn uses(store: &Store) -> Vec<(String, i64)> {
    let read = |record: &Value| {
        (
            record["id"].as_str().unwrap().to_owned(),
            record["useCount"].as_i64().unwrap(),
        )
    };
    store.list(json!({})).iter().map(read).collect()
}

#[test]
fn empty_batch_is_accepted() {
    assert_eq!(store().write(&[]), [0, 0, 0, 0]);
}

#[test]
fn equal_text_counts_a_use() {
    let store = store();
    store.write_texts(&["CI runs  nightly"]);
    assert_eq!(
        store.write_at(
            json!({ "records": [candidate(" ci\tRUNS nightly ")] }),
            NOW + 5
        ),
        [0, 1, 0, 0]
    );
    let record = &store.list(json!({}))[0];
    assert_eq!(
        (&record["useCount"], record.get("lastUsedAt")),
        (&json!(1), None)
    );
    assert_eq!(record["text"], "CI runs  nightly");
    assert_eq!(store.write(&[candidate("CI runs nightly.")]), [1, 0, 0, 0]);
}

#[test]
fn texts_differing_after_nul_are_distinct() {
    let store = store();
    assert_eq!(
        store.write(&[
            candidate("a\u{0}b"),
            candidate("a\u{0}c"),
            candidate("A\u{0}b")
        ]),
        [2, 1, 0, 0]
    );
    assert_eq!(
        store.write(&[candidate("a"), candidate("a\u{0}C")]),
        [1, 1, 0, 0]
    );
    assert_eq!(texts(&store.list(json!({}))), ["a", "a\u{0}c", "a\u{0}b"]);
}

#[test]
fn equal_text_consumes_no_number() {
    let store = store();
    let batch = ["alpha", "alpha", "beta"].map(candidate);
    assert_eq!(store.write(&batch), [2, 1, 0, 0]);
    assert_eq!(uses(&store), [(id(1), 0), (id(0), 1)]);
}

#[test]
fn superseded_record_is_replaced() {
    let store = store();
    store.write_texts(&["CI runs nightly"]);
    assert_eq!(
        store.write(&[superseding("CI runs hourly", &id(0))]),
        [1, 0, 1, 0]
    );
    let listed = store.list(json!({}));
    assert_eq!(
        (ids(&listed), &listed[0]["supersedes"]),
        (vec![id(1).as_str()], &json!(id(0)))
    );
    let status = store.rows("SELECT status FROM memory_records WHERE n = 0", &[]);
    assert_eq!(status[0].text(0), Ok("superseded"));
}

#[test]
fn superseding_with_equal_text_restates() {
    let store = store();
    store.write_texts(&["alpha"]);
    assert_eq!(store.write(&[superseding(" ALPHA", &id(0))]), [0, 1, 0, 0]);
    assert_eq!(uses(&store), [(id(0), 1)]);
}

#[test]
fn superseding_ignores_other_equal_records() {
    let store = store();
    store.write_texts(&["alpha", "beta"]);
    assert_eq!(store.write(&[superseding("alpha", &id(1))]), [1, 0, 1, 0]);
    assert_eq!(texts(&store.list(json!({}))), ["alpha", "alpha"]);
    // The older record is counted while it is active.
    store.write(&[candidate("alpha")]);
    assert_eq!(uses(&store), [(id(2), 0), (id(0), 1)]);
    assert_eq!(
        store.write(&[superseding("gamma", &id(0)), candidate("alpha")]),
        [1, 1, 1, 0]
    );
    assert_eq!(uses(&store), [(id(3), 0), (id(2), 1)]);
}

#[test]
fn superseding_an_unknown_id_inserts() {
    let store = store();
    store.write_texts(&["alpha", "beta"]);
    store.forget(&id(1));
    for target in [
        id(1),
        id(7),
        "mem:org:other:0".into(),
        "mem:org:acme:00".into(),
        "anything at all".into(),
    ] {
        assert_eq!(
            store.write(&[superseding("alpha", &target)]),
            [1, 0, 0, 0],
            "{target}"
        );
        assert_eq!(store.list(json!({}))[0]["supersedes"], target);
    }
    assert_eq!(store.list(json!({})).len(), 6);
}

#[test]
fn empty_supersedes_is_ignored() {
    let store = store();
    store.write_texts(&["alpha"]);
    assert_eq!(
        store.write(&[superseding("alpha", ""), superseding("beta", "")]),
        [1, 1, 0, 0]
    );
    assert_eq!(store.list(json!({}))[0].get("supersedes"), None);
}

#[test]
fn later_candidates_see_earlier_ones() {
    let store = store();
    let batch = [
        superseding("early", &id(1)),
        candidate("alpha"),
        superseding("beta", &id(1)),
        candidate("alpha"),
        superseding("BETA", &id(2)),
        superseding("alpha", &id(1)),
        candidate("alpha"),
    ];
    assert_eq!(store.write(&batch), [5, 2, 1, 0]);
    assert_eq!(
        uses(&store),
        [(id(4), 0), (id(3), 1), (id(2), 1), (id(0), 0)]
    );
    assert_eq!(
        texts(&store.list(json!({}))),
        ["alpha", "alpha", "beta", "early"]
    );
    store.assert_index_in_step();
}

#[test]
fn batch_has_one_creation_time() {
    let store = store();
    let batch = ["a", "b"].map(candidate);
    store.write_at(json!({ "records": batch }), NOW + 3);
    let listed = store.list(json!({}));
    assert!(
        listed
            .iter()
            .all(|record| record["createdAt"] == json!(NOW + 3) && record["useCount"] == 0)
    );
}

#[test]
fn least_recently_used_records_are_evicted() {
    let store = store();
    for (at, text) in [(0, "one"), (1, "two"), (2, "three"), (3, "four")] {
        store.write_at(json!({ "records": [candidate(text)] }), NOW + at);
    }
    store.retrieve_at("one", 1, NOW + 9);
    let add = |text: &str, cap: i64| {
        store.write_at(json!({ "records": [candidate(text)], "cap": cap }), NOW + 4)
    };
    assert_eq!(add("five", 5), [1, 0, 0, 0]);
    assert_eq!(add("six", 4), [1, 0, 0, 2]);
    assert_eq!(
        texts(&store.list(json!({}))),
        ["six", "five", "four", "one"]
    );
    // An empty batch enforces the cap as well.
    assert_eq!(
        store.write_at(json!({ "records": [], "cap": 1 }), NOW + 4),
        [0, 0, 0, 3]
    );
    assert_eq!(texts(&store.list(json!({}))), ["one"]);
    store.assert_index_in_step();
    assert_eq!(store.write(&[candidate("six")]), [1, 0, 0, 0]);
}

#[test]
fn older_of_equally_stale_records_is_evicted() {
    let store = store();
    store.write_at(json!({ "records": [candidate("younger")] }), NOW + 5);
    store.write_at(json!({ "records": [candidate("older")] }), NOW);
    store.retrieve_at("older", 1, NOW + 5);
    assert_eq!(
        store.write_at(json!({ "records": [], "cap": 1 }), NOW),
        [0, 0, 0, 1]
    );
    assert_eq!(texts(&store.list(json!({}))), ["younger"]);
}

#[test]
fn default_cap_is_500() {
    let store = store();
    for batch in 0..11 {
        let texts: Vec<_> = (0..50)
            .map(|n| candidate(&format!("text {batch} {n}")))
            .collect();
        let evicted = if batch == 10 { 50 } else { 0 };
        assert_eq!(
            store.write_at(json!({ "records": texts }), NOW + batch),
            [50, 0, 0, evicted]
        );
    }
    let count = || {
        store.rows("SELECT count(*) FROM memory_active", &[])[0]
            .integer(0)
            .unwrap()
    };
    assert_eq!(count(), ars_memory::DEFAULT_CAP);
    store.write_at(
        json!({ "records": [candidate("one more")], "cap": 10_000 }),
        NOW,
    );
    assert_eq!(count(), 501);
}

#[test]
fn ids_are_never_reused() {
    let store = store();
    store.write_texts(&["alpha", "beta"]);
    store.forget(&id(0));
    store.forget(&id(1));
    store.write_texts(&["alpha"]);
    assert_eq!(ids(&store.list(json!({}))), [id(2)]);
    store.write_at(
        json!({ "records": [candidate("gamma")], "cap": 1 }),
        NOW + 1,
    );
    store.forget(&id(3));
    store.write_texts(&["gamma"]);
    assert_eq!(ids(&store.list(json!({}))), [id(4)]);
}

#[test]
fn one_invalid_candidate_writes_no_record() {
    let store = store();
    store.write_texts(&["alpha"]);
    let batch = [
        candidate("beta"),
        candidate("alpha"),
        with(candidate("gamma"), json!({ "kind": "rumour" })),
    ];
    let refusal = refusal(store.ask(MemoryVerb::Write, json!({ "records": batch }), NOW));
    assert_eq!(
        (refusal.status(), refusal.to_string()),
        (400, "records[2].kind must be fact or summary".to_owned())
    );
    assert_eq!(uses(&store), [(id(0), 0)]);
}

#[test]
fn failed_batch_is_rolled_back() {
    let store = store();
    store.write_texts(&["alpha", "beta"]);
    let broken = "CREATE TRIGGER broken BEFORE UPDATE OF status ON memory_records WHEN new.status = 'evicted' \
                  BEGIN SELECT raise(ABORT, 'broken'); END";
    store.rows(broken, &[]);
    let before = store.list(json!({}));
    let batch = [
        candidate("alpha"),
        superseding("gamma", &id(1)),
        candidate("delta"),
    ];
    assert!(
        store
            .ask(
                MemoryVerb::Write,
                json!({ "records": batch, "cap": 1 }),
                NOW
            )
            .is_err()
    );
    store.rows("DROP TRIGGER broken", &[]);
    assert_eq!(store.list(json!({})), before);
    store.assert_index_in_step();
}

#[test]
fn largest_batch_is_accepted() {
    let store = store();
    // The body has half a mebibyte: each single letter becomes a keyword, and some letters grow in
    // lower case.
    let letters: Vec<_> = (0..50)
        .map(|n| candidate(&format!("{n} {}", "a b c d ".repeat(499))))
        .collect();
    assert_eq!(store.write(&letters), [50, 0, 0, 0]);
    let growing: Vec<_> = (0..50)
        .map(|n| candidate(&format!("{n} {}", "İ".repeat(3997))))
        .collect();
    assert_eq!(store.write(&growing), [50, 0, 0, 0]);
    let escaped: Vec<_> = (0..50)
        .map(|n| candidate(&format!("{n} {}", "\u{1}".repeat(1700))))
        .collect();
    assert_eq!(store.write(&escaped), [50, 0, 0, 0]);
    assert_eq!(
        store.write(&[letters[7].clone(), growing[7].clone(), escaped[7].clone()]),
        [0, 3, 0, 0]
    );
}
