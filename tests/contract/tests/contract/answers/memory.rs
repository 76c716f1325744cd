//! Memory scopes: tokens, ranks, and texts that look like a query's syntax.

use serde_json::{Value, json};

use ars_tests_contract::records::with;

use crate::pair::Pair;

fn fact(text: &str) -> Value {
    json!({ "kind": "fact", "text": text, "sourceThreadKey": "http:C1:1" })
}

fn facts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Value {
    let records: Value = texts.into_iter().map(|text| fact(text.as_ref())).collect();
    json!({ "records": records })
}

fn retrieve(pair: &mut Pair, query: &str, limit: u32) -> Value {
    pair.ok("/retrieve", json!({ "query": query, "limit": limit }))
}

fn list(pair: &mut Pair) -> Value {
    pair.ok("/list", json!({ "limit": 50 }))
}

/// Queries are plain text without syntax. Letters beyond ASCII split tokens.
const QUERIES: [&str; 26] = [
    "",
    " ?! \u{2014} \u{e9}\u{1f600} ",
    "DEPLOYS",
    "deploy",
    "ploys",
    "30",
    "\u{ef}vely\u{ef}",
    "cafe",
    "caf\u{e9}",
    "\u{664}\u{665}",
    "case",
    "nothing of deploys",
    "train cd",
    "\"",
    "\"alpha\" \"",
    "alpha OR",
    "NOT alpha",
    "NEAR(alpha beta)",
    "alph*",
    "^alpha",
    "text:alpha",
    "-alpha {alpha beta}: x",
    "alpha\u{0}beta",
    "'; DROP TABLE memory_records; --",
    "(alpha + beta",
    "or and not near",
];

#[test]
fn queries_are_plain_text() {
    let mut pair = Pair::start();
    pair.store("org:texts");
    let release = with(
        fact("text \u{0} \"q\"\n"),
        json!({ "keywords": ["release train", "CI/CD"] }),
    );
    pair.ok("/write", json!({ "records": [release] }));
    let texts = [
        "Deploys run at 9:30, na\u{ef}vely.",
        "cafe",
        "caf\u{e9}s",
        "\u{664}\u{665} x",
        "snake_case kebab-case",
    ];
    pair.ok("/write", facts(texts));
    pair.ok(
        "/write",
        facts([
            "alpha beta",
            "near or not",
            "drop table",
            "  alpha\t\u{1f600} ",
        ]),
    );
    for query in QUERIES {
        retrieve(&mut pair, query, 50);
        pair.ok("/list", json!({ "query": query, "limit": 50 }));
    }
    assert_eq!(list(&mut pair)["records"].as_array().unwrap().len(), 10);
    pair.store("org:another");
    assert_eq!(retrieve(&mut pair, "alpha", 50), json!({ "records": [] }));
    pair.ask("/retrieve", 400, json!({ "query": "alpha", "limit": 51 }));
    pair.finish();
}

#[test]
fn records_are_scored_and_ranked() {
    let mut pair = Pair::start();
    pair.store("org:ranks");
    for text in [
        "alpha one",
        "alpha two",
        "alpha alpha alpha",
        "alpha beta gamma",
        "beta gamma",
    ] {
        pair.ok("/write", facts([text]));
    }
    pair.ok(
        "/write",
        facts([
            "alpha and many other words that make it long",
            "alpha tiny",
            "gamma",
        ]),
    );
    for query in [
        "alpha",
        "alpha beta gamma",
        "alpha alpha alpha beta gamma",
        "two",
    ] {
        retrieve(&mut pair, query, 3);
        retrieve(&mut pair, query, 50);
    }
    // At most 24 tokens are searched, all count in the score.
    let words = |count: usize| {
        (0..count)
            .map(|n| format!("word{n:02}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    pair.ok("/write", facts(["word00 word01", "word23 tiny", "word24"]));
    for query in [
        format!("{} tiny", words(23)),
        format!("tiny {}", words(24)),
        words(25),
    ] {
        retrieve(&mut pair, &query, 50);
    }
    // More matches than are scored.
    pair.store("org:many");
    for batch in 0..2 {
        pair.ok(
            "/write",
            facts((0..50).map(|n| format!("alpha {}", batch * 50 + n))),
        );
    }
    for limit in [1, 20, 50] {
        retrieve(&mut pair, "alpha", limit);
    }
    list(&mut pair);
    pair.finish();
}

#[test]
fn written_records_change_scope_alike() {
    let mut pair = Pair::start();
    pair.store("s:1");
    let superseding = |text: &str, id: &str| with(fact(text), json!({ "supersedes": id }));
    let every_field = json!({ "kind": "summary", "text": "é".repeat(4000), "sourceThreadKey": "é".repeat(200),
        "keywords": vec!["é".repeat(64); 20], "sourceRunId": "r1", "confidence": 0.75, "useCount": 9, "more": 1 });
    pair.ok(
        "/write",
        json!({ "records": [every_field, fact("a"), fact("B a1 na\u{ef}ve b"), fact(" A ")] }),
    );
    pair.ok(
        "/write",
        facts([
            "\u{c9}T\u{c9}",
            "\u{e9}t\u{e9}",
            "old",
            "new",
            "a\u{0}b",
            "a\u{0}c",
        ]),
    );
    for (text, id) in [
        ("new", "mem:s:1:4"),
        (" NEW ", "mem:s:1:5"),
        ("old", "mem:s:1:99"),
        ("old", "\u{1f600} '; --"),
        ("old", ""),
    ] {
        pair.ok("/write", json!({ "records": [superseding(text, id)] }));
        list(&mut pair);
    }
    for id in ["mem:s:1:1", "mem:s:1:1", "mem:s:1:01", "mem:s:2:1", "0"] {
        pair.ok("/forget", json!({ "id": id }));
    }
    retrieve(&mut pair, "b", 50);
    pair.ok("/write", with(facts(["last"]), json!({ "cap": 3 })));
    list(&mut pair);
    pair.ask(
        "/write",
        400,
        json!({ "records": [fact("whole"), { "kind": "rumour" }] }),
    );
    list(&mut pair);
    // The default limit on active records.
    pair.store("s:2");
    for batch in 0..11 {
        pair.ok(
            "/write",
            facts((0..50).map(|n| format!("fact {batch} {n}"))),
        );
    }
    list(&mut pair);
    pair.finish();
}
