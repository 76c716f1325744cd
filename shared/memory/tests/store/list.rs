//! Tests `/list`.

use serde_json::json;

use crate::support::{candidate, id, ids, store, texts, with};

#[test]
fn list_is_newest_first_and_limited() {
    let store = store();
    store.write_texts(&["alpha one", "beta two", "alpha three", "beta four"]);
    let listed = |body| {
        texts(&store.list(body))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        listed(json!({})),
        ["beta four", "alpha three", "beta two", "alpha one"]
    );
    assert_eq!(listed(json!({ "limit": 2 })), ["beta four", "alpha three"]);
    assert_eq!(
        listed(json!({ "limit": 1, "query": "alpha" })),
        ["alpha three"]
    );
    assert_eq!(
        listed(json!({ "query": "two ALPHA" })),
        ["alpha three", "beta two", "alpha one"]
    );
    assert_eq!(listed(json!({ "query": "alph" })), [""; 0]);
}

#[test]
fn query_without_tokens_lists_no_records() {
    let store = store();
    store.write_texts(&["alpha", "?!"]);
    for query in ["", "?!", "é"] {
        assert!(
            store.list(json!({ "query": query })).is_empty(),
            "{query:?}"
        );
    }
}

#[test]
fn keywords_are_searched_too() {
    let store = store();
    store.write(&[
        with(candidate("alpha"), json!({ "keywords": ["CI time"] })),
        candidate("beta"),
    ]);
    assert_eq!(texts(&store.list(json!({ "query": "time" }))), ["alpha"]);
}

#[test]
fn listing_counts_no_use() {
    let store = store();
    store.write_texts(&["alpha"]);
    for body in [json!({}), json!({ "query": "alpha" })] {
        store.list(body);
    }
    let record = &store.list(json!({}))[0];
    assert_eq!(
        (&record["useCount"], record.get("lastUsedAt")),
        (&json!(0), None)
    );
}

#[test]
fn only_active_records_are_listed() {
    let store = store();
    store.write_texts(&["alpha one", "alpha two", "alpha three"]);
    store.forget(&id(2));
    store.write(&[with(
        candidate("alpha four"),
        json!({ "supersedes": id(0) }),
    )]);
    for body in [json!({}), json!({ "query": "alpha" })] {
        let listed = store.list(body);
        assert_eq!(ids(&listed), [id(3), id(1)]);
        assert!(listed.iter().all(|record| record["status"] == "active"));
    }
}

#[test]
fn list_uses_the_index() {
    let store = store();
    let plan = "EXPLAIN QUERY PLAN SELECT n FROM memory_records WHERE status = 'active' ORDER BY n DESC LIMIT 5";
    let steps: Vec<_> = store
        .rows(plan, &[])
        .into_iter()
        .map(|row| row.into_text(3).unwrap())
        .collect();
    assert!(
        steps.len() == 1 && steps[0].contains("memory_records_active"),
        "{steps:?}"
    );
}
