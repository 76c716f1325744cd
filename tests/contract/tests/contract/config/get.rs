//! `/config/get`.

use serde_json::json;

use ars_tests_contract::{Table, WRONG};

use super::replacing;

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/config/get");
    table.case("before the first put there is no document").ok(json!({}));
    table
        .case("document is returned unchanged with its version")
        .given(
            "/config/put",
            replacing(0, json!({ "z": 1, "a": [null, 1.5, {}], "é": "\u{1f600} \"\n", "deep": { "b": [] } })),
        )
        .ok(json!({}));
    table
        .case("newest version is returned")
        .given_each("/config/put", [replacing(0, json!({ "nth": 1 })), replacing(1, json!({ "nth": 2 }))])
        .ok(json!({ "version": 1, "expectedVersion": 0 }));
    table.case("key of the maximum length").ok(json!({ "key": "k".repeat(64) }));
    table.case("key of digits and dashes").ok(json!({ "key": "-0-" }));
    table.case("fields of other routes are ignored").ok(json!({ "document": WRONG }));
    table
}
