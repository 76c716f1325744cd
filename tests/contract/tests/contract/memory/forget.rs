//! `/forget`.

use serde_json::{Value, json};

use ars_tests_contract::{Table, WRONG, records::with};

use super::{all, facts};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/forget");
    let wrong = [
        json!(null),
        json!(7),
        json!(""),
        json!(WRONG),
        json!("a\tb"),
        json!("a\u{0}"),
        json!("a\u{a0}b"),
        json!("x".repeat(201)),
        json!(["mem:a:0"]),
    ];
    table.case("id is required").refused("id", json!({}));
    table.refuses("id", &wrong, |id| json!({ "id": id }));
    table.case("id of 200 characters").ok(json!({ "id": "é".repeat(200) }));
    table.case("unknown id is not forgotten").ok(json!({ "id": "mem:nowhere:0" }));
    let scoped = |scope: &str, body: Value| with(body, json!({ "scopeKey": scope }));
    table
        .case("once, permanently")
        .given("/write", scoped("s:1", facts(&["alpha", "beta"])))
        .ok(scoped("s:1", json!({ "id": "mem:s:1:0" })))
        .then("/forget", scoped("s:1", json!({ "id": "mem:s:1:0" })))
        .then("/list", scoped("s:1", all()))
        .then("/retrieve", scoped("s:1", json!({ "query": "alpha", "limit": 1 })));
    table
        .case("written again it is a new record")
        .given("/write", scoped("s:2", facts(&["alpha"])))
        .ok(scoped("s:2", json!({ "id": "mem:s:2:0" })))
        .then("/write", scoped("s:2", facts(&["ALPHA"])))
        .then("/list", scoped("s:2", all()));
    table
        .case("another scope's record is not forgotten")
        .given("/write", scoped("s:3", facts(&["alpha"])))
        .ok(json!({ "id": "mem:s:3:0" }))
        .then("/list", scoped("s:3", all()));
    table
        .case("superseded record is not forgotten")
        .given("/write", scoped("s:4", facts(&["alpha"])))
        .given(
            "/write",
            scoped("s:4", json!({ "records": [{ "kind": "fact", "text": "beta", "sourceThreadKey": "t", "supersedes": "mem:s:4:0" }] })),
        )
        .ok(scoped("s:4", json!({ "id": "mem:s:4:0" })));
    table
        .case("evicted record is not forgotten")
        .given("/write", scoped("s:5", facts(&["alpha"])))
        .given("/write", scoped("s:5", with(facts(&["beta"]), json!({ "cap": 1 }))))
        .ok(scoped("s:5", json!({ "id": "mem:s:5:0" })));
    table
        .case("number is not an id, nor is a prefix of an id")
        .given("/write", scoped("s:6", facts(&["alpha"])))
        .ok(scoped("s:6", json!({ "id": "0" })))
        .then("/forget", scoped("s:6", json!({ "id": "mem:s:6:00" })))
        .then("/forget", scoped("s:6", json!({ "id": "mem:s:6:0x" })))
        .then("/forget", scoped("s:6", json!({ "id": "MEM:s:6:0" })))
        .then("/list", scoped("s:6", all()));
    table
}
