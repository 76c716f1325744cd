//! `/runs/transcript/clear`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{attachment, owner, row, write};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/clear");
    let full = || write(json!([row(0, 0, "a")]), json!([attachment("x", "AA==")]));
    table.case("of an unknown run there is nothing to clear, and that is well").ok(json!({}));
    table
        .case("everything goes, the owner too")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .ok(json!({}))
        .then("/runs/transcript/read", json!({}))
        .then("/runs/transcript/write", full());
    table
        .case("anyone may clear, and again")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .given("/runs/transcript/clear", json!({ "gen": "g9" }))
        .ok(json!({}))
        .then("/runs/transcript/read", json!({}));
    table
        .case("a new owner begins anew")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .ok(json!({}))
        .then("/runs/transcript/owner", owner())
        .then("/runs/transcript/write", write(json!([row(1, 0, "b")]), json!([])))
        .then("/runs/transcript/read", json!({}));
    table
        .case("another run's stays")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .ok(json!({ "runId": "another" }))
        .then("/runs/transcript/read", json!({}));
    table
}
