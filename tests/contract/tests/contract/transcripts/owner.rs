//! `/runs/transcript/owner`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{owner, row, write, wrong_generations};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/owner");
    table.case("gen must be there").refused("gen", json!({}));
    table.refuses("gen", &wrong_generations(), |generation| json!({ "gen": generation }));
    table
        .case("a generation of 128 characters of every kind")
        .ok(json!({ "gen": format!("{}:.-_", "Az9x".repeat(31)) }));
    table
        .case("the first owner may write")
        .ok(owner())
        .then("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .then("/runs/transcript/read", json!({}));
    table
        .case("the same again changes nothing")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(owner())
        .then("/runs/transcript/read", json!({}));
    table
        .case("another takes its place, whoever it was, and what was written stays")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(json!({ "gen": "g2" }))
        .then("/runs/transcript/write", write(json!([row(0, 1, "b")]), json!([])))
        .then("/runs/transcript/read", json!({}));
    table
        .case("the ledger is not asked: a run that nobody claimed may have an owner")
        .ok(json!({ "runId": "of-nobody", "gen": "g1" }))
        .then("/runs/live", json!({}));
    table
}
