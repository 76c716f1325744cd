//! `/runs/delete`.

use serde_json::json;

use ars_tests_contract::{
    Table,
    records::{put, record, record_of},
};

use super::wrong_ids;

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/delete");
    table.case("id is required").refused("id", json!({}));
    table.refuses("id", &wrong_ids(), |id| json!({ "id": id }));
    table.case("unknown run is not deleted").ok(json!({ "id": "nobody" }));
    table
        .case("run is deleted once, with its events")
        .given("/runs/put", put(record_of("r", now - 1000, &[json!({ "type": "a" })])))
        .ok(json!({ "id": "r" }))
        .then("/runs/delete", json!({ "id": "r" }))
        .then("/runs/get", json!({ "id": "r" }))
        .then("/runs/events", json!({ "id": "r" }))
        .then("/runs/list", json!({}));
    table
        .case("deleted run put again has only its new events")
        .given(
            "/runs/put",
            put(record_of("r", now - 1000, &[json!({ "type": "a" }), json!({ "type": "b" })])),
        )
        .ok(json!({ "id": "r" }))
        .then("/runs/put", put(record_of("r", now - 1000, &[json!({ "type": "c" })])))
        .then("/runs/events", json!({ "id": "r" }));
    table
        .case("other runs stay")
        .given_each(
            "/runs/put",
            ["a", "r", "z"].map(|id| put(record_of(id, now - 1000, &[json!({ "type": id })]))),
        )
        .ok(json!({ "id": "r" }))
        .then("/runs/list", json!({}))
        .then("/runs/events", json!({ "id": "a" }));
    table
        .case("another store's run stays")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(json!({ "storeKey": "runs:another", "id": "r" }))
        .then("/runs/summary", json!({ "id": "r" }));
    table
        .case("for a live run only the record is deleted, its events belong to the ledger")
        .given(
            "/runs/claim",
            json!({ "run": { "runId": "r", "threadKey": "t", "gen": "g1", "leaseMs": 3_600_000, "startedAt": 1,
                "meta": {}, "system": "", "tools": [] } }),
        )
        .given("/runs/put", put(record("r", now - 1000)))
        .given("/runs/append", json!({ "runId": "r", "gen": "g1", "events": [{ "seq": 1, "type": "a" }] }))
        .ok(json!({ "id": "r" }))
        .then("/runs/get", json!({ "id": "r" }))
        .then("/runs/live-events", json!({ "runId": "r" }));
    table
}
