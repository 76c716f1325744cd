//! `/runs/summary`.

use serde_json::json;

use ars_tests_contract::{
    Table,
    records::{put, record, record_of, with},
};

use super::wrong_ids;

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/summary");
    table.case("id is required").refused("id", json!({}));
    table.refuses("id", &wrong_ids(), |id| json!({ "id": id }));
    table.case("unknown run is null without an error").ok(json!({ "id": "nobody" }));
    table
        .case("record without its events, with the size of the whole")
        .given("/runs/put", put(record_of("r", now - 1000, &[json!({ "type": "text", "text": "é" })])))
        .ok(json!({ "id": "r" }))
        .whole();
    table
        .case("every listed field is returned, unknown ones too")
        .given(
            "/runs/put",
            put(with(
                record("r", now - 1000),
                json!({ "label": "l", "agent": "a", "model": "m", "repo": "o/n", "channelVisibility": "public",
                    "receivedAt": now - 2000, "sealedAt": now - 500, "replyOk": true, "stepCount": 0, "schema": 2,
                    "later": [1] }),
            )),
        )
        .ok(json!({ "id": "r" }));
    table
        .case("run beyond the maximum count is null")
        .given("/runs/put", put(record("r", now - 2000)))
        .given(
            "/runs/put",
            json!({ "record": record("young", now - 1000), "policy": { "maxRuns": 1 }, "policyUpdatedAt": now - 100 }),
        )
        .ok(json!({ "id": "r" }))
        .then("/runs/summary", json!({ "id": "young" }));
    table
        .case("another store's run is unknown")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(json!({ "storeKey": "runs:another", "id": "r" }));
    table
}
