//! `/runs/stop`.

use serde_json::json;

use ars_tests_contract::{Table, WRONG, records::record};

use super::{HOUR, claimed, owned, wrong_ids};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/stop");
    let soft = || json!({ "runId": "r", "mode": "soft" });
    let beat = || owned(json!({ "leaseMs": HOUR }));
    table.case("runId is required").refused("runId", json!({ "mode": "soft" }));
    table.refuses("runId", &wrong_ids(), |id| json!({ "runId": id, "mode": "soft" }));
    table.case("mode is required").refused("mode", json!({ "runId": "r" }));
    let modes =
        [json!(null), json!(""), json!("Soft"), json!("medium"), json!(WRONG), json!(["soft"]), json!(7)];
    table.refuses("mode", &modes, |mode| json!({ "runId": "r", "mode": mode }));
    table.case("run that is not live is not stopped").ok(soft());
    table
        .case("finished run is not stopped")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(soft());
    table
        .case("another store's run is not stopped")
        .given("/runs/claim", claimed())
        .ok(json!({ "storeKey": "runs:another", "runId": "r", "mode": "soft" }));
    table
        .case("live owner receives it with its heartbeat")
        .given("/runs/claim", claimed())
        .ok(soft())
        .then("/runs/heartbeat", beat());
    table
        .case("last request wins, even the softer")
        .given("/runs/claim", claimed())
        .given("/runs/stop", json!({ "runId": "r", "mode": "hard" }))
        .ok(soft())
        .then("/runs/heartbeat", beat());
    table
        .case("other columns of the row stay unchanged")
        .given("/runs/claim", claimed())
        .ok(json!({ "runId": "r", "mode": "hard", "gen": "g9" }))
        .then("/runs/live", json!({}));
    table
        .case("owner with an expired lease is reported as not alive")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .ok(soft())
        .then("/runs/live", json!({}));
    table
        .case("handed-off run keeps it for its next owner")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(soft())
        .then("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }));
    table
}
