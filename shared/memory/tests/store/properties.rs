//! The store compared with the naive model, over random histories.

use ars_wire::state::MemoryVerb;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::{
    model::Model,
    support::{NOW, SCOPE, Store, records, store, with},
};

/// Few enough that texts collide, unusual enough that a different tokenizer would differ.
const WORDS: [&str; 30] = [
    "deploy",
    "Deploy",
    "DEPLOY",
    "ci",
    "a",
    "b2",
    "0",
    "café",
    "naïve",
    "ﬁx",
    "\u{212a}elvin",
    "ſ",
    "İ",
    "é",
    "日本",
    "or",
    "OR",
    "AND",
    "NEAR",
    "not",
    "tokens",
    "col:ci",
    "\"ci\"",
    "\"",
    "x*",
    "^a",
    "\u{0}",
    "a\u{0}b",
    "'--",
    "(",
];
const JOINTS: [&str; 8] = [" ", " ", "  ", "\t\n", "-", "", "\u{a0}", "\u{0}"];

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    vec((select(&WORDS[..]), select(&JOINTS[..])), words).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(word, joint)| [word, joint])
            .collect()
    })
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        6 => (0..12_i64).prop_map(|n| format!("mem:{SCOPE}:{n}")),
        1 => (0..3_i64).prop_map(|n| format!("mem:org:other:{n}")),
        1 => select(&["mem:org:acme:00", "mem:org:acme:", "x", "mem:org:acme:9007199254740993"][..]).prop_map(Into::into),
    ]
}

/// Generates texts, many of them repeated.
fn spoken() -> impl Strategy<Value = String> {
    let known = [
        "ci",
        " CI",
        "deploy  ci",
        "Deploy\tCI ",
        "a\u{0}b",
        "A\u{0}B",
    ];
    let fresh = text(1..5).prop_filter("a text is not blank", |text| !text.trim().is_empty());
    prop_oneof![2 => select(known.to_vec()).prop_map(Into::into), 1 => fresh]
}

fn candidate() -> impl Strategy<Value = Value> {
    let keywords = option::of(vec(text(1..3), 0..3));
    (
        spoken(),
        keywords,
        option::weighted(0.4, target()),
        option::of(0..=4_u8),
        any::<bool>(),
    )
        .prop_map(|(text, keywords, supersedes, confidence, is_fact)| {
            let kind = if is_fact { "fact" } else { "summary" };
            let mut candidate =
                json!({ "kind": kind, "text": text, "sourceThreadKey": "t:C1:1", "more": 1 });
            if let Some(keywords) = keywords {
                candidate["keywords"] = json!(keywords);
            }
            if let Some(id) = supersedes {
                candidate["supersedes"] = json!(id);
            }
            if let Some(quarters) = confidence {
                candidate["confidence"] = json!(f64::from(quarters) / 4.0);
            }
            candidate
        })
}

#[derive(Debug, Clone)]
enum Op {
    Write(Vec<Value>, Option<i64>),
    Retrieve(String, usize),
    List(Option<String>, usize),
    Forget(String),
    /// Moves the clock, possibly backwards.
    Wait(i64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (vec(candidate(), 0..6), option::of(1..9_i64)).prop_map(|(records, cap)| Op::Write(records, cap)),
        4 => (text(0..5), 1..4_usize).prop_map(|(query, limit)| Op::Retrieve(query, limit)),
        2 => (option::of(text(0..3)), 1..9_usize).prop_map(|(query, limit)| Op::List(query, limit)),
        1 => target().prop_filter("an id is not empty", |id| !id.is_empty()).prop_map(Op::Forget),
        2 => (-100_000_000..600_000_000_i64).prop_map(Op::Wait),
    ]
}

fn written(store: &Store, candidates: &[Value], cap: Option<i64>, now: i64) -> [i64; 4] {
    let body = json!({ "records": candidates });
    store.write_at(
        cap.map_or(body.clone(), |cap| with(body, json!({ "cap": cap }))),
        now,
    )
}

fn listed(store: &Store, query: Option<&str>, limit: usize) -> Vec<Value> {
    let body = json!({ "limit": limit });
    let body = query.map_or(body.clone(), |query| with(body, json!({ "query": query })));
    records(store.ask(MemoryVerb::List, body, NOW).unwrap())
}

/// Returns the tokens that SQLite's tokenizer produces from the rows.
fn vocabulary(store: &Store) -> Vec<String> {
    store.rows(
        "CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(memory_index, row)",
        &[],
    );
    let terms = store.rows("SELECT term FROM vocabulary ORDER BY term", &[]);
    terms
        .into_iter()
        .map(|row| row.into_text(0).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Returned records match, are ranked by score, and are active; ids are never reused.
    #[test]
    fn every_history_matches_the_model(ops in vec(op(), 1..30)) {
        let (store, mut model, mut now) = (store(), Model::new(), NOW);
        for op in ops {
            match op {
                Op::Wait(ms) => now += ms,
                Op::Write(candidates, cap) => {
                    let expected = model.write(&candidates, cap, now);
                    prop_assert_eq!(written(&store, &candidates, cap, now), expected);
                }
                Op::Retrieve(query, limit) => {
                    let expected = model.retrieve(&query, limit, now);
                    prop_assert_eq!(store.retrieve_at(&query, limit as i64, now), expected, "{:?}", query);
                }
                Op::List(query, limit) => {
                    let expected = model.list(query.as_deref(), limit);
                    prop_assert_eq!(listed(&store, query.as_deref(), limit), expected, "{:?}", query);
                }
                Op::Forget(id) => prop_assert_eq!(store.forget(&id), model.forget(&id)),
            }
        }
        prop_assert_eq!(listed(&store, None, 50), model.list(None, 50));
        let rows = store.rows("SELECT count(*) FROM memory_records", &[])[0].integer(0).unwrap();
        prop_assert_eq!(rows as usize, model.len());
        prop_assert_eq!(vocabulary(&store), model.vocabulary());
        store.assert_index_in_step();
    }
}

/// Returns a scope in which most queries match more rows than are scored.
fn crowd() -> (Store, Model) {
    let (store, mut model) = (store(), Model::new());
    for batch in 0..8_usize {
        let spoken = |n: usize| {
            let words: Vec<_> = (0..1 + (n * 7 + batch) % 9)
                .map(|i| WORDS[(n * n + i * (batch + 3)) % 30])
                .collect();
            with(
                crate::support::candidate(&format!("{batch} {n} {}", words.join(" "))),
                json!({ "keywords": ["k"] }),
            )
        };
        let candidates: Vec<_> = (0..50).map(spoken).collect();
        let at = NOW + batch as i64 * 90_000_000;
        assert_eq!(
            written(&store, &candidates, Some(330), at),
            model.write(&candidates, Some(330), at)
        );
    }
    (store, model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn best_ranked_candidates_are_scored(queries in vec((text(1..8), 1..25_usize, 0..900_000_000_i64), 1..12)) {
        let (store, mut model) = crowd();
        for (query, limit, after) in queries {
            let expected = model.retrieve(&query, limit, NOW + after);
            prop_assert_eq!(store.retrieve_at(&query, limit as i64, NOW + after), expected, "{:?}", query);
        }
    }

    #[test]
    fn query_text_is_never_syntax(
        queries in vec(prop_oneof![
            "[\\x00-\\x7f]{0,80}",
            "\\PC{0,80}",
            "([\"'*^():{}+ -]|AND|OR|NOT|NEAR|tokens|deploy|ci|\\x00){0,60}",
            text(300..900).prop_map(|text| text.chars().take(4000).collect()),
        ], 1..12),
    ) {
        let (store, mut model) = crowd();
        for query in queries {
            prop_assert_eq!(store.retrieve_at(&query, 5, NOW), model.retrieve(&query, 5, NOW), "{:?}", query);
            prop_assert_eq!(listed(&store, Some(&query), 9), model.list(Some(&query), 9), "{:?}", query);
        }
    }
}
