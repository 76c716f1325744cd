//! Tests `/retrieve`.

use ars_wire::state::MemoryVerb;
use serde_json::json;

use crate::support::{NOW, SCOPE, candidate, id, ids, store, texts, with};

const WEEK: i64 = 604_800_000;

#[test]
fn retrieved_record_counts_as_used() {
    let store = store();
    let whole = json!({
        "kind": "summary", "text": " Deploys \"run\"\n on Fridays\u{0} ", "keywords": ["CI time"],
        "sourceThreadKey": "t:C1:1", "sourceRunId": "r-1", "confidence": 0.5, "supersedes": "mem:other:7",
    });
    store.write(&[candidate("Lint first"), whole.clone()]);
    let at = NOW + 5;
    let travelling = with(
        whole,
        json!({
            "id": id(1), "scopeKey": SCOPE, "createdAt": NOW, "lastUsedAt": at, "useCount": 1, "status": "active",
        }),
    );
    assert_eq!(store.retrieve_at("time", 1, at), [travelling]);
    let least = json!({
        "id": "mem:org:acme:0", "scopeKey": "org:acme", "kind": "fact", "text": "Lint first",
        "keywords": ["lint", "first"], "sourceThreadKey": "t:C1:1", "createdAt": NOW, "lastUsedAt": at,
        "useCount": 1, "status": "active",
    });
    assert_eq!(store.retrieve_at("lint", 1, at), [least]);
}

#[test]
fn scope_key_with_quotes_is_escaped() {
    let store = store();
    let key = "user:\"x\"\\";
    let ask = |verb, body| {
        store
            .ask(verb, with(json!({ "scopeKey": key }), body), NOW)
            .unwrap()
    };
    ask(
        MemoryVerb::Write,
        json!({ "records": [candidate("Lint first")] }),
    );
    let answer = ask(MemoryVerb::Retrieve, json!({ "query": "lint", "limit": 1 }));
    assert_eq!(answer["records"][0]["id"], "mem:user:\"x\"\\:0");
    assert_eq!(answer["records"][0]["scopeKey"], key);
    let forgotten = ask(MemoryVerb::Forget, json!({ "id": "mem:user:\"x\"\\:0" }));
    assert_eq!(forgotten["forgotten"], true);
}

#[test]
fn query_without_tokens_matches_no_records() {
    let store = store();
    store.write_texts(&["é ? \u{0}", "Lint first"]);
    for query in ["", " ", "?!*\"", "é", "\u{0}"] {
        assert_eq!(store.retrieve(query), [json!(null); 0], "{query:?}");
    }
}

#[test]
fn whole_words_match_in_any_case() {
    let store = store();
    let tagged = with(
        candidate("Lint first"),
        json!({ "keywords": ["CI-time", "naïve"] }),
    );
    store.write(&[tagged, candidate("Deploy on Fridays")]);
    for (query, found) in [
        ("LINT", &["Lint first"][..]),
        ("ci", &["Lint first"]),
        ("ve", &["Lint first"]),
        ("lin", &[]),
        ("naive", &[]),
        ("deployment", &[]),
        ("fridays, or lint?", &["Deploy on Fridays", "Lint first"]),
        ("\"lint first\"", &["Lint first"]),
    ] {
        let mut records = texts(&store.retrieve(query))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        records.sort();
        assert_eq!(records, found, "{query}");
    }
}

#[test]
fn query_text_is_never_syntax() {
    let store = store();
    store.write_texts(&["near or not and", "tokens col", "alpha beta"]);
    for (query, found) in [
        ("alpha NOT beta", vec!["alpha beta", "near or not and"]),
        ("alpha AND gamma", vec!["alpha beta", "near or not and"]),
        ("NEAR(alpha gamma)", vec!["alpha beta", "near or not and"]),
        ("tokens:alpha", vec!["alpha beta", "tokens col"]),
        ("- tokens : zeta", vec!["tokens col"]),
        ("^beta", vec!["alpha beta"]),
        ("alph*", vec![]),
        ("\"alpha", vec!["alpha beta"]),
        ("alpha\"\" OR (", vec!["alpha beta", "near or not and"]),
        ("alpha\u{0}beta", vec!["alpha beta"]),
        ("'); DROP TABLE memory_records; --", vec![]),
        ("{alpha beta}:x + y", vec!["alpha beta"]),
    ] {
        let records = store.retrieve(query);
        let mut found_texts = texts(&records);
        found_texts.sort_unstable();
        assert_eq!(found_texts, found, "{query}");
    }
}

#[test]
fn better_match_then_recency_comes_first() {
    let store = store();
    store.write_texts(&["alpha", "alpha beta"]);
    assert_eq!(
        texts(&store.retrieve_at("alpha beta", 1, NOW)),
        ["alpha beta"]
    );
    store.write_at(
        json!({ "records": [candidate("beta one"), candidate("beta two")] }),
        NOW,
    );
    assert_eq!(
        texts(&store.retrieve_at("two", 1, NOW + WEEK)),
        ["beta two"]
    );
    assert_eq!(
        texts(&store.retrieve_at("beta", 50, NOW + WEEK)),
        ["beta two", "alpha beta", "beta one"]
    );
}

#[test]
fn match_outweighs_recency() {
    let store = store();
    store.write_texts(&["alpha beta old"]);
    let later = NOW + 100 * WEEK;
    // 0.35 + 0.3 against 0.7 + 0: a complete match wins against half a match with full recency.
    store.write_at(json!({ "records": [candidate("alpha new")] }), later);
    assert_eq!(
        texts(&store.retrieve_at("alpha beta", 50, later)),
        ["alpha beta old", "alpha new"]
    );
    // 0.525 + 0.3 against 0.7 + 0.
    store.write_at(json!({ "records": [candidate("one two three")] }), later);
    store.write_at(json!({ "records": [candidate("one two three four")] }), NOW);
    let found = store.retrieve_at("one two three four", 50, later);
    assert_eq!(texts(&found), ["one two three", "one two three four"]);
}

#[test]
fn only_returned_records_count_as_used() {
    let store = store();
    store.write_texts(&["alpha one", "alpha two", "alpha three"]);
    let first = store.retrieve_at("alpha two", 1, NOW + 1);
    assert_eq!(
        (texts(&first), &first[0]["useCount"]),
        (vec!["alpha two"], &json!(1))
    );
    let used: Vec<_> = store
        .list(json!({}))
        .iter()
        .map(|record| (record["useCount"].clone(), record["lastUsedAt"].clone()))
        .collect();
    assert_eq!(
        used,
        [
            (json!(0), json!(null)),
            (json!(1), json!(NOW + 1)),
            (json!(0), json!(null))
        ]
    );
    let again = store.retrieve_at("alpha two", 1, NOW + 9);
    assert_eq!(
        (&again[0]["useCount"], &again[0]["lastUsedAt"]),
        (&json!(2), &json!(NOW + 9))
    );
}

#[test]
fn five_candidates_per_record_are_scored() {
    // A long text ranks behind 50 short texts. Once it is scored it comes first, because it is
    // younger.
    let long = format!("alpha {}", "filler ".repeat(500));
    for (limit, is_looked_at) in [(1, false), (9, false), (10, false), (11, true), (50, true)] {
        let store = store();
        store.write_at(json!({ "records": [candidate(&long)] }), NOW + WEEK);
        let short: Vec<_> = (0..50).map(|n| candidate(&format!("alpha {n}"))).collect();
        store.write(&short);
        let found = store.retrieve_at("alpha", limit, NOW + WEEK);
        assert_eq!(
            (found.len(), texts(&found)[0] == long),
            (limit as usize, is_looked_at),
            "{limit}"
        );
    }
}

#[test]
fn inactive_records_are_not_found() {
    let store = store();
    store.write_texts(&["alpha one", "alpha two", "alpha three"]);
    store.forget(&id(0));
    store.write(&[with(
        candidate("alpha four"),
        json!({ "supersedes": id(1) }),
    )]);
    assert_eq!(
        store.write_at(
            json!({ "records": [candidate("alpha five")], "cap": 2 }),
            NOW + 1
        )[3],
        1
    );
    let found = store.retrieve("alpha");
    let mut left = ids(&found);
    left.sort_unstable();
    assert_eq!(left, [id(3), id(4)]);
    store.assert_index_in_step();
}

#[test]
fn largest_answer_is_complete() {
    let store = store();
    // Each character is escaped with six, which exceeds the length that SQLite may join in a Durable Object.
    let texts: Vec<_> = (0..50)
        .map(|n| format!("alpha{n:02} word {}", "\u{1}".repeat(3980)))
        .collect();
    let batches: Vec<Vec<_>> = texts
        .chunks(10)
        .map(|texts| texts.iter().map(|text| candidate(text)).collect())
        .collect();
    for batch in batches {
        store.write(&batch);
    }
    let keywords = with(
        candidate(&"a ".repeat(2000)),
        json!({ "keywords": ["word"] }),
    );
    store.write(&[keywords]);
    let found = store.retrieve("word");
    assert_eq!(found.len(), 50);
    assert!(
        found
            .iter()
            .all(|record| record["text"].as_str().unwrap().len() >= 3991)
    );
}
