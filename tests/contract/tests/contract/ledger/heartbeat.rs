//! `/runs/heartbeat`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{HOUR, claimed, fenced, owned, wrong_leases};

pub fn table(now: i64) -> Table {
    let sound = || owned(json!({ "leaseMs": HOUR }));
    let mut table = fenced("/runs/heartbeat", &json!({ "leaseMs": HOUR }));
    table.case("leaseMs is required").refused("leaseMs", owned(json!({})));
    table.refuses("leaseMs", &wrong_leases(), |lease| owned(json!({ "leaseMs": lease })));
    table.case("live run has no stop request").given("/runs/claim", claimed()).ok(sound());
    table
        .case("lease starts at the store's clock and may become shorter")
        .given("/runs/claim", claimed())
        .ok(owned(json!({ "leaseMs": 1000 })))
        .then("/runs/live", json!({}));
    for mode in ["soft", "hard"] {
        table
            .case(format!("{mode} stop is returned repeatedly"))
            .given("/runs/claim", claimed())
            .given("/runs/stop", json!({ "runId": "r", "mode": mode }))
            .ok(sound())
            .then("/runs/heartbeat", sound());
    }
    table
        .case("handed-off run receives it")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(sound());
    table
        .case("finishing run receives it")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .ok(sound());
    table
        .case("owner with an expired lease extends it")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .ok(json!({ "runId": "r", "gen": "g2", "leaseMs": HOUR }))
        .then("/runs/live", json!({}));
    table
}
