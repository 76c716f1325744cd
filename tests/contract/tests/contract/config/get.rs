//! `/config/get`.

use serde_json::json;

use ars_tests_contract::{Table, WRONG};

use super::replacing;

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/config/get");
    table.case("before the first put there is no document").ok(json!({}));
    table
        .case("a document is told as it came, with its version")
        .given(
            "/config/put",
            replacing(0, json!({ "z": 1, "a": [null, 1.5, {}], "é": "\u{1f600} \"\n", "deep": { "b": [] } })),
        )
        .ok(json!({}));
    table
        .case("the newest version is told")
        .given_each("/config/put", [replacing(0, json!({ "nth": 1 })), replacing(1, json!({ "nth": 2 }))])
        .ok(json!({ "version": 1, "expectedVersion": 0 }));
    table.case("a key is as long as it may be").ok(json!({ "key": "k".repeat(64) }));
    table.case("a key is of digits and dashes").ok(json!({ "key": "-0-" }));
    table.case("fields that are not asked for say nothing").ok(json!({ "document": WRONG }));
    table
}
