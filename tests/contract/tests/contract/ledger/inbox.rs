//! `/runs/inbox`.

use serde_json::json;

use ars_tests_contract::{Table, records::record};

use super::{HOUR, claim, claimed, no_objects, owned, run, wrong_ids};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/inbox");
    let message = || json!({ "runId": "r", "message": { "text": "more" } });
    table.case("runId is required").refused("runId", json!({ "message": {} }));
    table.refuses("runId", &wrong_ids(), |id| json!({ "runId": id, "message": {} }));
    table.case("message is required").refused("message", json!({ "runId": "r" }));
    table.refuses("message", &no_objects(), |message| json!({ "runId": "r", "message": message }));
    table.case("run that is not live accepts none").ok(message());
    table
        .case("finished run accepts none")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(message());
    table.case("first has seq 1, no generation needed").given("/runs/claim", claimed()).ok(message());
    table
        .case("seqs count up within a run")
        .given("/runs/claim", claimed())
        .given_each("/runs/inbox", [message(), message()])
        .ok(message());
    table
        .case("runs have separate counts")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "t2", "g1")))
        .given("/runs/inbox", message())
        .ok(json!({ "runId": "r2", "message": {} }));
    table
        .case("message is stored unchanged")
        .given("/runs/claim", claimed())
        .ok(json!({ "runId": "r", "message": { "text": "\u{1f600} \"\n", "deep": [1.5, null, {}] } }))
        .then("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .then("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }));
    table
        .case("handed-off and finishing runs accept them")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/inbox", message())
        .given("/runs/finishing", owned(json!({})))
        .ok(message());
    table
        .case("another store's run accepts none from here")
        .given("/runs/claim", claimed())
        .ok(json!({ "storeKey": "runs:another", "runId": "r", "message": {} }));
    table
}
