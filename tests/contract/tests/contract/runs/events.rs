//! `/runs/events`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table,
    records::{put, record, record_of},
};

use super::wrong_ids;

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/events");
    table.case("id is required").refused("id", json!({}));
    table.refuses("id", &wrong_ids(), |id| json!({ "id": id }));
    let limits = [json!(null), json!(0), json!(-1), json!(1.5), json!("5"), json!(5001)];
    table.refuses("limit", &limits, |limit| json!({ "id": "r", "limit": limit }));
    let seqs = [json!(null), json!(-1), json!(0.5), json!("5")];
    table.refuses("afterSeq", &seqs, |seq| json!({ "id": "r", "afterSeq": seq }));
    table
        .case("unknown run has none, and no cursor")
        .ok(json!({ "id": "nobody", "afterSeq": 7, "limit": 1 }));
    table
        .case("run without events has an empty page")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(json!({ "id": "r" }));
    pages(&mut table, now);
    table
        .case("hidden run has no events")
        .given("/runs/put", put(record_of("r", now - 2000, &[json!({ "type": "a" })])))
        .given(
            "/runs/put",
            json!({ "record": record("young", now - 1000), "policy": { "maxRuns": 1 }, "policyUpdatedAt": now - 100 }),
        )
        .ok(json!({ "id": "r" }));
    table
        .case("live run has no record")
        .given(
            "/runs/claim",
            json!({ "run": { "runId": "r", "threadKey": "t", "gen": "g1", "leaseMs": 3_600_000, "startedAt": 1,
                "meta": {}, "system": "", "tools": [] } }),
        )
        .given("/runs/append", json!({ "runId": "r", "gen": "g1", "events": [{ "seq": 1, "type": "a" }] }))
        .ok(json!({ "id": "r" }));
    table
}

fn pages(table: &mut Table, now: i64) {
    let sparse: Vec<_> = [2, 3, 5, 8].iter().map(|seq| json!({ "seq": seq, "type": "a" })).collect();
    let mut asked = |name: &str, body: Value| {
        table.case(name).given("/runs/put", put(record_of("r", now - 1000, &sparse))).ok(body);
    };
    asked("all of them when nothing is said", json!({ "id": "r" }));
    asked("a page of one has a cursor", json!({ "id": "r", "limit": 1 }));
    asked("a page goes on strictly after its cursor", json!({ "id": "r", "limit": 2, "afterSeq": 2 }));
    asked("the cursor need not be an event's seq", json!({ "id": "r", "limit": 2, "afterSeq": 4 }));
    asked("the last page has no cursor, though it is full", json!({ "id": "r", "limit": 2, "afterSeq": 3 }));
    asked("past the last event there is nothing", json!({ "id": "r", "afterSeq": 8 }));
    asked("far past the last event there is nothing", json!({ "id": "r", "afterSeq": 1e300 }));
    asked("the greatest limit is 5000", json!({ "id": "r", "limit": 5000 }));
    asked("integers may be written with a point", json!({ "id": "r", "limit": 2.0, "afterSeq": 0.0 }));
    let many: Vec<_> = (0..1001).map(|n| json!({ "type": "a", "n": n })).collect();
    table
        .case("default page has a thousand")
        .given("/runs/put", put(record_of("r", now - 1000, &many)))
        .ok(json!({ "id": "r" }))
        .then("/runs/events", json!({ "id": "r", "afterSeq": 1000 }));
    let many: Vec<_> = (0..5001).map(|_| json!({ "type": "a" })).collect();
    table
        .case("maximum page has five thousand")
        .given("/runs/put", put(record_of("r", now - 1000, &many)))
        .ok(json!({ "id": "r", "limit": 5000 }))
        .then("/runs/events", json!({ "id": "r", "limit": 5000, "afterSeq": 5000 }));
}
