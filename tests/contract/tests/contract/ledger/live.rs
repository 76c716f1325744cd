//! `/runs/live`.

use serde_json::json;

use ars_tests_contract::{
    Table,
    records::{record, with},
};

use super::{HOUR, claim, claimed, owned, run};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/live");
    table.case("empty store has none").ok(json!({}));
    table.case("unknown fields are ignored").ok(json!({ "limit": 0, "runId": 7 }));
    table
        .case("earliest start first, ties by id")
        .given_each(
            "/runs/claim",
            [("late", 3.5), ("b", 2.0), ("a", 2.0), ("early", -1.0)]
                .map(|(id, at)| claim(with(run(id, id, "g1"), json!({ "startedAt": at })))),
        )
        .ok(json!({}));
    table
        .case("runs of all generations, with stop, phase and state")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "t2", "g2")))
        .given("/runs/claim", claim(run("r3", "t3", "g3")))
        .given("/runs/stop", json!({ "runId": "r", "mode": "soft" }))
        .given("/runs/state", owned(json!({ "state": { "a": 1 } })))
        .given("/runs/handoff", json!({ "gen": "g2", "runIds": ["r2"] }))
        .given("/runs/finishing", json!({ "runId": "r3", "gen": "g3" }))
        .ok(json!({}));
    table
        .case("another store's runs are not returned")
        .given("/runs/claim", claimed())
        .ok(json!({ "storeKey": "runs:another" }));
    table
        .case("finished run is not returned")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(json!({}));
    table
        .case("reclaimed run has its new owner and lease")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": 1000, "now": now + 24 * HOUR }))
        .ok(json!({}));
    table
        .case("system prompt of half a megabyte is returned complete, several times")
        .given_each(
            "/runs/claim",
            ["a", "b", "c", "d", "e"].map(|id| {
                claim(with(run(id, id, "g1"), json!({ "system": "\u{1f600}\"\n".repeat(64_000) })))
            }),
        )
        .ok(json!({}));
    table
}
