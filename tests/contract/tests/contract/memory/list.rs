//! `/list`.

use serde_json::{Value, json};

use ars_tests_contract::{Table, records::with};

use super::{all, fact, facts, keyed, records, wrong_limits, wrong_queries};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/list");
    table.case("limit is required").refused("limit", json!({}));
    table.refuses("limit", &wrong_limits(), |limit| json!({ "limit": limit }));
    table.refuses("query", &wrong_queries(), |query| json!({ "limit": 1, "query": query }));
    table.case("empty scope lists none").ok(all());
    table.case("query of 4000 characters").ok(json!({ "limit": 1, "query": "é".repeat(4000) }));
    let three = || records([fact("alpha one"), keyed("two", &["Alpha"]), fact("three")]);
    let mut asked = |name: &str, body: Value| {
        table.case(name).given("/write", three()).ok(body);
    };
    asked("the newest inserted first", all());
    asked("as many as the limit says", json!({ "limit": 2 }));
    asked("what has the query's token, in text or keywords", json!({ "limit": 50, "query": "ALPHA" }));
    asked("any of the query's tokens", json!({ "limit": 50, "query": "one three four" }));
    asked("tokens match whole", json!({ "limit": 50, "query": "thre" }));
    asked("the limit counts what matches", json!({ "limit": 1, "query": "one" }));
    asked("an empty query lists nothing", json!({ "limit": 50, "query": "" }));
    asked("a query of punctuation lists nothing", json!({ "limit": 50, "query": "\"* é" }));
    asked("a query is text", json!({ "limit": 50, "query": "\"alpha\" NOT one*" }));
    table.case("none of it counts as use").given("/write", three()).given("/list", all()).ok(all());
    table
        .case("sorted as numbers, not as texts")
        .given("/write", records((0..12).map(|n| fact(&format!("fact {n}")))))
        .ok(all());
    table
        .case("maximum of fifty")
        .given("/write", records((0..50).map(|n| fact(&format!("fact {n}")))))
        .given("/write", facts(&["one more"]))
        .ok(all());
    table
        .case("record that was used again is no newer")
        .given("/write", facts(&["alpha", "beta"]))
        .given("/retrieve", json!({ "query": "alpha", "limit": 1 }))
        .given("/write", facts(&["ALPHA"]))
        .ok(all());
    let scoped = |scope: &str, body: Value| with(body, json!({ "scopeKey": scope }));
    table
        .case("superseded, forgotten and evicted records are not listed")
        .given("/write", scoped("s:l", facts(&["evicted"])))
        .given("/write", scoped("s:l", with(facts(&["alpha", "beta", "gamma"]), json!({ "cap": 3 }))))
        .given("/write", scoped("s:l", records([with(fact("delta"), json!({ "supersedes": "mem:s:l:1" }))])))
        .given("/forget", json!({ "scopeKey": "s:l", "id": "mem:s:l:2" }))
        .ok(scoped("s:l", all()));
    table
        .case("another scope's are not listed")
        .given("/write", scoped("org:secret", facts(&["alpha"])))
        .ok(all());
    table
}
