//! `/runs/heartbeat`.

use serde_json::json;

use ars_tests_contract::Table;

use super::{HOUR, claimed, fenced, owned, wrong_leases};

pub fn table(now: i64) -> Table {
    let sound = || owned(json!({ "leaseMs": HOUR }));
    let mut table = fenced("/runs/heartbeat", &json!({ "leaseMs": HOUR }));
    table.case("leaseMs must be there").refused("leaseMs", owned(json!({})));
    table.refuses("leaseMs", &wrong_leases(), |lease| owned(json!({ "leaseMs": lease })));
    table.case("a live run hears of no stop").given("/runs/claim", claimed()).ok(sound());
    table
        .case("the lease is counted from the store's clock, and may become shorter")
        .given("/runs/claim", claimed())
        .ok(owned(json!({ "leaseMs": 1000 })))
        .then("/runs/live", json!({}));
    for mode in ["soft", "hard"] {
        table
            .case(format!("a {mode} stop is told, again and again"))
            .given("/runs/claim", claimed())
            .given("/runs/stop", json!({ "runId": "r", "mode": mode }))
            .ok(sound())
            .then("/runs/heartbeat", sound());
    }
    table
        .case("a run in handoff hears of it")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(sound());
    table
        .case("a run that is finishing hears of it")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .ok(sound());
    table
        .case("an owner whose lease has lapsed has it again")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .ok(json!({ "runId": "r", "gen": "g2", "leaseMs": HOUR }))
        .then("/runs/live", json!({}));
    table
}
