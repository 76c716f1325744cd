//! `/runs/finish`. Record validation is tested with `/runs/put`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{record, record_of, with, without},
};

use super::{HOUR, claim, claimed, fenced, no_objects, owned, run, step};

pub fn table(now: i64) -> Table {
    let mut table = fenced("/runs/finish", &json!({ "record": record("r", now - 1000) }));
    validation(&mut table, now);
    ends(&mut table, now);
    retention(&mut table, now);
    table
}

fn finishing(record: Value) -> Value {
    owned(json!({ "record": record }))
}

fn validation(table: &mut Table, now: i64) {
    let sound = || record("r", now - 1000);
    table.case("record is required").refused("record", owned(json!({})));
    table.refuses("record", &no_objects(), finishing);
    let fields = "id channelId userId threadKey startedAt finishedAt status eventCount storedEventCount truncated events diagnosis";
    for field in fields.split(' ') {
        let named = format!("record.{field}");
        table.case(format!("{named} is required")).refused(&named, finishing(without(sound(), field)));
    }
    table
        .case("record is validated like a put")
        .refused("record.status", finishing(with(sound(), json!({ "status": WRONG }))));
    table
        .case("record of another run is rejected before any write")
        .given("/runs/claim", claimed())
        .refused("record.id", finishing(record("r2", now - 1000)))
        .then("/runs/live", json!({}))
        .then("/runs/get", json!({ "id": "r2" }));
    table.case("invalid record of an unknown run").refused("record.id", finishing(record("r2", now - 1000)));
    table.refuses("policy.maxRuns", &[json!(0), json!("5")], |value| {
        with(finishing(sound()), json!({ "policy": { "maxRuns": value }, "policyUpdatedAt": now - 100 }))
    });
    table
        .case("policy requires a stamp")
        .refused("policyUpdatedAt", with(finishing(sound()), json!({ "policy": {} })));
}

fn ends(table: &mut Table, now: i64) {
    let event = |seq: i64| json!({ "seq": seq, "type": "a" });
    table
        .case("live run may finish without the reply permit")
        .given("/runs/claim", claimed())
        .ok(finishing(record("r", now - 1000)))
        .then("/runs/live", json!({}))
        .then("/runs/get", json!({ "id": "r" }))
        .then("/runs/list", json!({}));
    table
        .case("from finishing")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .ok(finishing(record("r", now - 1000)));
    table
        .case("from a handoff")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .ok(finishing(record("r", now - 1000)))
        .then("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }));
    table
        .case("record's events replace all appended ones")
        .given("/runs/claim", claimed())
        .given("/runs/append", owned(json!({ "events": [event(1), event(2), event(9)] })))
        .ok(finishing(record_of("r", now - 1000, &[event(1), event(5)])))
        .then("/runs/events", json!({ "id": "r" }))
        .then("/runs/live-events", json!({ "runId": "r" }));
    table
        .case("even when the record equals the tombstone")
        .given("/runs/claim", claimed())
        .given("/runs/put", json!({ "record": record("r", now - 1000) }))
        .given("/runs/append", owned(json!({ "events": [event(1)] })))
        .ok(finishing(record("r", now - 1000)))
        .then("/runs/events", json!({ "id": "r" }));
    table
        .case("repeated finish is of an unknown run, and the caller falls back to a put")
        .given("/runs/claim", claimed())
        .given("/runs/finish", finishing(record("r", now - 1000)))
        .conflict("unknown-run", finishing(record("r", now - 1000)))
        .then("/runs/put", json!({ "record": record("r", now - 1000) }));
    table
        .case("no data of a live run remains for one of the same name")
        .given("/runs/claim", claimed())
        .given("/runs/step", owned(json!({ "record": step(7) })))
        .given("/runs/inbox", json!({ "runId": "r", "message": { "a": 1 } }))
        .given("/runs/stop", json!({ "runId": "r", "mode": "hard" }))
        .given("/runs/state", owned(json!({ "state": { "a": 1 } })))
        .ok(finishing(record("r", now - 1000)))
        .then("/runs/claim", claim(run("r", "t", "g2")))
        .then("/runs/inbox", json!({ "runId": "r", "message": { "b": 2 } }))
        .then("/runs/reclaim", json!({ "gen": "g3", "leaseMs": HOUR, "now": now + 10 * HOUR }));
    table
        .case("other runs stay live")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "t2", "g1")))
        .given("/runs/inbox", json!({ "runId": "r2", "message": {} }))
        .ok(finishing(record("r", now - 1000)))
        .then("/runs/reclaim", json!({ "gen": "g3", "leaseMs": HOUR, "now": now + 10 * HOUR }));
}

fn retention(table: &mut Table, now: i64) {
    let day = 86_400_000;
    table
        .case("policy of the request applies to its record")
        .given("/runs/put", json!({ "record": record("older", now - 2000) }))
        .given("/runs/claim", claimed())
        .ok(with(
            finishing(record("r", now - 1000)),
            json!({ "policy": { "maxRuns": 1 }, "policyUpdatedAt": now - 100 }),
        ))
        .then("/runs/list", json!({}));
    table
        .case("record excluded by the policy ends its run")
        .given("/runs/claim", claimed())
        .given("/runs/append", owned(json!({ "events": [{ "seq": 1, "type": "a" }] })))
        .ok(finishing(record("r", now - 31 * day)))
        .then("/runs/live", json!({}))
        .then("/runs/get", json!({ "id": "r" }))
        .then("/runs/live-events", json!({ "runId": "r" }));
    table
        .case("times beyond a day ahead are clamped")
        .given("/runs/claim", claimed())
        .ok(finishing(record("r", now + 365 * day)))
        .then("/runs/summary", json!({ "id": "r" }));
}
