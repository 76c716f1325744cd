//! `/runs/state`.

use serde_json::json;

use ars_tests_contract::{Table, records::with};

use super::{claim, claimed, fenced, no_objects, owned, run};

pub fn table(_now: i64) -> Table {
    let mut table = fenced("/runs/state", &json!({ "state": {} }));
    table.case("state is required").refused("state", owned(json!({})));
    table.refuses("state", &no_objects(), |state| owned(json!({ "state": state })));
    table
        .case("state replaces the earlier one")
        .given(
            "/runs/claim",
            claim(with(run("r", "t", "g1"), json!({ "state": { "a": 1, "b": { "c": 2 } } }))),
        )
        .ok(owned(json!({ "state": { "b": { "d": [1.5, null, "\u{1f600}"] } } })))
        .then("/runs/live", json!({}));
    table
        .case("state may be empty")
        .given("/runs/claim", claim(with(run("r", "t", "g1"), json!({ "state": { "a": 1 } }))))
        .ok(owned(json!({ "state": {} })))
        .then("/runs/live", json!({}));
    table
        .case("state is accepted while finishing")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .ok(owned(json!({ "state": { "finalStatus": "failed" } })))
        .then("/runs/live", json!({}));
    table
}
