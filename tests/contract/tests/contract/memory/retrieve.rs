//! `/retrieve`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table,
    records::{with, without},
};

use super::{all, fact, facts, keyed, records, wrong_limits, wrong_queries};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/retrieve");
    let sound = || asking("a", 5);
    for field in ["query", "limit"] {
        table.case(format!("{field} is required")).refused(field, without(sound(), field));
    }
    table.refuses("query", &wrong_queries(), |query| with(sound(), json!({ "query": query })));
    table.refuses("limit", &wrong_limits(), |limit| with(sound(), json!({ "limit": limit })));
    table.case("empty scope has none").ok(sound());
    table
        .case("query of 4000 characters")
        .given("/write", facts(&["a"]))
        .ok(asking(&"\u{e9}".repeat(4000), 50));
    tokens(&mut table);
    hostile(&mut table);
    order(&mut table);
    many(&mut table);
    use_and_death(&mut table);
    table
}

fn asking(query: &str, limit: u32) -> Value {
    json!({ "query": query, "limit": limit })
}

fn tokens(table: &mut Table) {
    let mut asked = |name: &str, texts: &[&str], query: &str| {
        table.case(name).given("/write", facts(texts)).ok(asking(query, 50));
    };
    let one = ["Deploys run at 9:30, na\u{ef}vely."];
    asked("an empty query matches nothing", &one, "");
    asked("a query of punctuation matches nothing", &one, " ?! \u{2014} \u{e9}\u{1f600} ");
    asked("case does not matter", &one, "DEPLOYS");
    asked("a token matches whole, not by its beginning", &one, "deploy");
    asked("nor by its end", &one, "ploys");
    asked("digits are tokens", &one, "30");
    asked("letters beyond ASCII split tokens", &one, "vely");
    asked("and split them in the query, too", &one, "\u{ef}vely\u{ef}");
    asked("they are no tokens by themselves", &one, "na\u{ef}");
    asked("an accent is not read as its letter", &["cafe"], "caf\u{e9}");
    asked("a letter is not read as its accent", &["caf\u{e9}s"], "cafes");
    asked("digits beyond ASCII are no tokens", &["\u{664}\u{665} x"], "\u{664}\u{665}");
    asked("a hyphen and an underscore split tokens", &["snake_case kebab-case"], "case");
    asked("a token of a single letter is one", &["a"], "A");
    asked("any one of the query's tokens is enough", &one, "nothing of deploys");
    table
        .case("keywords match like the text, by whole tokens")
        .given("/write", records([keyed("text", &["release train", "CI/CD"]), keyed("other", &["trains"])]))
        .ok(asking("train cd", 50));
    table
        .case("without keywords the text's tokens count, and empty ones are dropped")
        .given("/write", records([keyed("alpha", &[]), fact("beta alpha")]))
        .ok(asking("alpha", 50));
}

/// Queries are plain text without syntax.
fn hostile(table: &mut Table) {
    let queries = [
        "\"",
        "\"alpha\" \"",
        "alpha OR",
        "NOT alpha",
        "NEAR(alpha beta)",
        "alph*",
        "^alpha",
        "text:alpha",
        "-alpha",
        "{alpha beta}: x",
        "alpha\u{0}beta",
        "'; DROP TABLE memories; --",
        "(alpha",
        "alpha + beta",
        "or and not near",
    ];
    for query in queries {
        table
            .case(format!("query is plain text: {query:?}"))
            .given("/write", facts(&["alpha beta", "near or not", "drop table"]))
            .ok(asking(query, 50));
    }
}

/// Score and sort order.
fn order(table: &mut Table) {
    table
        .case("more matching tokens rank first")
        .given("/write", facts(&["alpha", "alpha beta gamma", "gamma alpha"]))
        .ok(asking("alpha beta gamma", 50));
    table
        .case("repeated token of the query counts repeatedly")
        .given("/write", facts(&["beta gamma", "alpha", "alpha beta"]))
        .ok(asking("alpha alpha alpha beta gamma", 50));
    table
        .case("repeated token of the record counts once")
        .given("/write", facts(&["alpha alpha alpha", "alpha beta"]))
        .ok(asking("alpha beta", 50));
    table
        .case("equal matches are sorted by age")
        .given_each("/write", ["alpha one", "alpha two", "alpha three"].map(|text| facts(&[text])))
        .ok(asking("alpha", 50));
    table
        .case("equal matches are sorted by last use")
        .given_each("/write", ["alpha one", "alpha two", "alpha three"].map(|text| facts(&[text])))
        .given("/retrieve", asking("one", 1))
        .ok(asking("alpha", 50));
    table
        .case("equal matches of one time are sorted by full-text rank")
        .given("/write", facts(&["alpha and many other words that make it long", "alpha", "alpha alpha"]))
        .ok(asking("alpha", 50));
    table
        .case("more matching tokens outweigh recency")
        .given("/write", facts(&["alpha beta"]))
        .given("/write", facts(&["alpha"]))
        .ok(asking("alpha beta", 50));
}

/// More tokens and more candidate rows than the limits.
fn many(table: &mut Table) {
    let words =
        |range: std::ops::Range<u32>| range.map(|n| format!("word{n:02}")).collect::<Vec<_>>().join(" ");
    table
        .case("with twenty-four distinct tokens all are searched")
        .given("/write", facts(&["tiny", "word00"]))
        .ok(asking(&format!("{} tiny", words(0..23)), 50));
    table
        .case("of twenty-five tokens the shortest is not searched")
        .given("/write", facts(&["tiny", "word00"]))
        .ok(asking(&format!("tiny {}", words(0..24)), 50));
    table
        .case("of twenty-five tokens of one length the last is not searched")
        .given("/write", facts(&["word24", "word23"]))
        .ok(asking(&words(0..25), 50));
    table
        .case("token beyond the limit counts in the score")
        .given("/write", facts(&["word00 word01", "word00 tiny word02"]))
        .ok(asking(&format!("tiny {}", words(0..24)), 50));
    table
        .case("limit applies after sorting, and only returned records are used")
        .given("/write", facts(&["alpha", "alpha beta", "alpha beta gamma"]))
        .ok(asking("alpha beta gamma", 2))
        .then("/list", all());
    table
        .case("maximum of fifty")
        .given("/write", records((0..50).map(|n| fact(&format!("alpha {n}")))))
        .given("/write", facts(&["alpha beta"]))
        .ok(asking("alpha beta", 50));
    table
        .case("of more than fifty matches the fifty best by rank are scored, or five times the limit")
        .given("/write", records((0..50).map(|n| fact(&format!("alpha {n}")))))
        .given("/write", records((50..100).map(|n| fact(&format!("alpha {n}")))))
        .ok(asking("alpha", 1))
        .then("/retrieve", asking("alpha", 20));
}

/// Usage counts, and records that are never returned.
fn use_and_death(table: &mut Table) {
    table
        .case("returned records count as used now")
        .given("/write", facts(&["alpha"]))
        .ok(asking("alpha", 1))
        .then("/retrieve", asking("alpha", 1))
        .then("/list", all());
    table
        .case("records that do not match are not used")
        .given("/write", facts(&["alpha", "beta"]))
        .ok(asking("alpha", 50))
        .then("/list", all());
    let scoped = |scope: &str, body: Value| with(body, json!({ "scopeKey": scope }));
    table
        .case("forgotten record is never returned")
        .given("/write", scoped("s:f", facts(&["alpha", "alpha beta"])))
        .given("/forget", json!({ "scopeKey": "s:f", "id": "mem:s:f:1" }))
        .ok(scoped("s:f", asking("alpha beta", 50)));
    table
        .case("superseded record is not returned, its successor has the pointer")
        .given("/write", scoped("s:s", facts(&["alpha"])))
        .given(
            "/write",
            scoped("s:s", records([with(fact("alpha beta"), json!({ "supersedes": "mem:s:s:0" }))])),
        )
        .ok(scoped("s:s", asking("alpha", 50)));
    table
        .case("evicted record is never returned")
        .given("/write", facts(&["alpha"]))
        .given("/write", with(facts(&["alpha beta"]), json!({ "cap": 1 })))
        .ok(asking("alpha", 50));
    table
        .case("another scope's record is never returned")
        .given("/write", scoped("org:secret", facts(&["alpha"])))
        .ok(asking("alpha", 50));
}
