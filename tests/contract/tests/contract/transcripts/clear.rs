//! `/runs/transcript/clear`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{attachment, owner, row, write};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/runs/transcript/clear");
    let full = || write(json!([row(0, 0, "a")]), json!([attachment("x", "AA==")]));
    table.case("clear of an unknown run succeeds").ok(json!({}));
    table
        .case("all rows and the owner are deleted")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .ok(json!({}))
        .then("/runs/transcript/read", json!({}))
        .then("/runs/transcript/write", full());
    table
        .case("clear needs no ownership and can be repeated")
        .given("/runs/transcript/owner", owner())
        .given("/runs/transcript/write", full())
        .given("/runs/transcript/clear", json!({ "gen": "g9" }))
        .ok(json!({}))
        .then("/runs/transcript/read", json!({}));
    table
        .case("new owner starts empty")
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
