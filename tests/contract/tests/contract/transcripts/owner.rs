//! `/runs/transcript/owner`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{owner, row, write, wrong_generations};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/owner");
    table.case("gen is required").refused("gen", json!({}));
    table.refuses("gen", &wrong_generations(), |generation| json!({ "gen": generation }));
    table
        .case("generation of 128 characters of every kind")
        .ok(json!({ "gen": format!("{}:.-_", "Az9x".repeat(31)) }));
    table
        .case("first owner may write")
        .ok(owner())
        .then("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .then("/runs/transcript/read", json!({}));
    table
        .case("repetition changes nothing")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(owner())
        .then("/runs/transcript/read", json!({}));
    table
        .case("new owner replaces the previous one and keeps its rows")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", write(json!([row(0, 0, "a")]), json!([])))
        .ok(json!({ "gen": "g2" }))
        .then("/runs/transcript/write", write(json!([row(0, 1, "b")]), json!([])))
        .then("/runs/transcript/read", json!({}));
    table
        .case("ledger is not consulted: an unclaimed run may have an owner")
        .ok(json!({ "runId": "of-nobody", "gen": "g1" }))
        .then("/runs/live", json!({}));
    table
}
