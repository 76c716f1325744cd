//! `/runs/live`.

use serde_json::json;

use ars_tests_contract::{
    Table,
    records::{record, with},
};

use super::{HOUR, claim, claimed, owned, run};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/live");
    table.case("an empty store has none").ok(json!({}));
    table.case("fields that nobody knows are ignored").ok(json!({ "limit": 0, "runId": 7 }));
    table
        .case("the earliest start first, of equal ones the smaller id")
        .given_each(
            "/runs/claim",
            [("late", 3.5), ("b", 2.0), ("a", 2.0), ("early", -1.0)]
                .map(|(id, at)| claim(with(run(id, id, "g1"), json!({ "startedAt": at })))),
        )
        .ok(json!({}));
    table
        .case("every generation's runs, with stop, phase and state as they stand")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "t2", "g2")))
        .given("/runs/claim", claim(run("r3", "t3", "g3")))
        .given("/runs/stop", json!({ "runId": "r", "mode": "soft" }))
        .given("/runs/state", owned(json!({ "state": { "a": 1 } })))
        .given("/runs/handoff", json!({ "gen": "g2", "runIds": ["r2"] }))
        .given("/runs/finishing", json!({ "runId": "r3", "gen": "g3" }))
        .ok(json!({}));
    table
        .case("another store's runs are not there")
        .given("/runs/claim", claimed())
        .ok(json!({ "storeKey": "runs:another" }));
    table
        .case("a finished run is not there")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(json!({}));
    table
        .case("a run that was taken over has its new owner and lease")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": 1000, "now": now + 24 * HOUR }))
        .ok(json!({}));
    table
        .case("a system prompt of half a megabyte is told whole, several times")
        .given_each(
            "/runs/claim",
            ["a", "b", "c", "d", "e"].map(|id| {
                claim(with(run(id, id, "g1"), json!({ "system": "\u{1f600}\"\n".repeat(64_000) })))
            }),
        )
        .ok(json!({}));
    table
}
