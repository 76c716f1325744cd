//! Contract cases of `/runs/finishing`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{HOUR, claimed, fenced, owned};

pub fn table(now: i64) -> Table {
    let mut table = fenced("/runs/finishing", &json!({}));
    let finishing = || owned(json!({}));
    table
        .case("live run may finish")
        .given("/runs/claim", claimed())
        .ok(finishing())
        .then("/runs/live", json!({}));
    table
        .case("reply permit is granted once")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", finishing())
        .conflict("fenced", finishing())
        .then("/runs/live", json!({}));
    table
        .case("owner may finish before its handoff is reclaimed")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(finishing())
        .then("/runs/live", json!({}));
    table
        .case("owner with an expired lease may finish")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .ok(json!({ "runId": "r", "gen": "g2" }));
    table
        .case("run reclaimed from finishing may finish again")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", finishing())
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now + 10 * HOUR }))
        .ok(json!({ "runId": "r", "gen": "g2" }))
        .then("/runs/finishing", finishing());
    table
}
