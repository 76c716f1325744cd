//! `/runs/claim`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{record, with, without},
};

use super::{HOUR, claim, claimed, no_objects, owned, run, wrong_generations, wrong_ids, wrong_leases};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/claim");
    validation(&mut table);
    rows(&mut table, now);
    conflicts(&mut table);
    phases(&mut table, now);
    table
}

fn validation(table: &mut Table) {
    let sound = || run("r", "t", "g1");
    table.case("run is required").refused("run", json!({}));
    table.refuses("run", &no_objects(), claim);
    for field in ["runId", "threadKey", "gen", "leaseMs", "startedAt", "meta", "system", "tools"] {
        let named = format!("run.{field}");
        table.case(format!("{named} is required")).refused(&named, claim(without(sound(), field)));
    }
    let rules: [(&str, Vec<Value>); 10] = [
        ("runId", wrong_ids()),
        ("threadKey", vec![json!(null), json!(7), json!(""), json!("é".repeat(257))]),
        ("gen", wrong_generations()),
        ("leaseMs", wrong_leases()),
        ("startedAt", vec![json!(null), json!("1"), json!([])]),
        ("meta", no_objects()),
        (
            "card",
            vec![
                json!(7),
                json!(WRONG),
                json!([]),
                json!({}),
                json!({ "channel": "c" }),
                json!({ "ts": "1" }),
                json!({ "channel": 7, "ts": "1" }),
                json!({ "channel": "c", "ts": null }),
            ],
        ),
        ("system", vec![json!(null), json!(7), json!([])]),
        ("tools", vec![json!(null), json!({}), json!(WRONG)]),
        ("state", no_objects()),
    ];
    for (field, values) in rules {
        let body = |value: Value| claim(with(sound(), json!({ field: value })));
        table.refuses(&format!("run.{field}"), &values, body);
    }
    table
        .case("rejected claim leaves the thread free")
        .refused("run.tools", claim(with(sound(), json!({ "tools": {} }))))
        .then("/runs/live", json!({}));
}

fn rows(table: &mut Table, now: i64) {
    table.case("minimal claim creates a live row").ok(claimed()).then("/runs/live", json!({}));
    table
        .case("every field of a claim is stored unchanged")
        .ok(claim(with(
            run("Az9_-", &"é".repeat(256), &format!("{}.:-_", "Az9".repeat(41))),
            json!({
                "startedAt": now as f64 - 0.5,
                "meta": { "agent": "coding", "channelId": "C1", "deep": { "a": [1.5, null] }, "b": "\u{1f600}" },
                "card": { "channel": "C1", "ts": "1.2", "more": true },
                "system": "You are \"careful\".\n", "tools": [{ "name": "bash" }, 7], "state": { "phase": 1 },
                "ofALaterVersion": true,
            }),
        )))
        .then("/runs/live", json!({}));
    table
        .case("card may be null")
        .ok(claim(with(run("r", "t", "g1"), json!({ "card": null }))))
        .then("/runs/live", json!({}));
    table
        .case("minimum and maximum lease")
        .given("/runs/claim", claim(with(run("short", "t1", "g1"), json!({ "leaseMs": 1000 }))))
        .ok(claim(with(run("long", "t2", "g1"), json!({ "leaseMs": 3_600_000.0 }))))
        .then("/runs/live", json!({}));
    table
        .case("threads and stores are independent")
        .given("/runs/claim", claimed())
        .given("/runs/claim", claim(run("r2", "T", "g1")))
        .ok(with(claimed(), json!({ "storeKey": "runs:another-for-claims" })))
        .then("/runs/live", json!({}));
}

fn conflicts(table: &mut Table) {
    let coding =
        || claim(with(run("r", "t", "g1"), json!({ "meta": { "agent": "coding" }, "startedAt": 12.5 })));
    table
        .case("same run and generation again succeeds without a write")
        .given("/runs/claim", coding())
        .ok(claim(with(
            run("r", "t", "g1"),
            json!({ "leaseMs": 1000, "startedAt": 99, "meta": { "agent": "other" }, "system": "other", "state": { "a": 1 } }),
        )))
        .then("/runs/live", json!({}));
    table
        .case("same run by another generation")
        .given("/runs/claim", coding())
        .conflict("thread-live", claim(run("r", "t", "g2")));
    table
        .case("another run on the thread")
        .given("/runs/claim", coding())
        .conflict("thread-live", claim(run("r2", "t", "g1")))
        .then("/runs/live", json!({}));
    table
        .case("conflict omits an unknown agent")
        .given("/runs/claim", claimed())
        .conflict("thread-live", claim(run("r2", "t", "g1")));
    table
        .case("conflict omits an agent that is no text")
        .given(
            "/runs/claim",
            claim(with(run("r", "t", "g1"), json!({ "meta": { "agent": { "name": "x" } } }))),
        )
        .conflict("thread-live", claim(run("r2", "t", "g1")));
    table
        .case("run that is live on another thread gets the same rejection")
        .given("/runs/claim", coding())
        .conflict("thread-live", claim(run("r", "t2", "g1")))
        .then("/runs/live", json!({}));
    table
        .case("of the thread's owner and the run's other thread the first is named")
        .given("/runs/claim", claim(run("holder", "t", "g1")))
        .given("/runs/claim", claim(run("r", "t2", "g1")))
        .conflict("thread-live", claim(run("r", "t", "g1")));
}

fn phases(table: &mut Table, now: i64) {
    table
        .case("handoff does not free the thread")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .conflict("thread-live", claim(run("r2", "t", "g2")));
    table
        .case("finishing does not free the thread")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .conflict("thread-live", claim(run("r2", "t", "g2")));
    table
        .case("expired lease does not free the thread")
        .given("/runs/claim", claimed())
        // Reclaimed with a `now` far in the past, so the lease has expired since.
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .conflict("thread-live", claim(run("r2", "t", "g3")))
        .then("/runs/live", json!({}));
    table
        .case("finish frees the thread and the run id")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(claim(run("r", "t", "g2")))
        .then("/runs/live", json!({}));
    table
        .case("run with a tombstone can be claimed")
        .given("/runs/put", json!({ "record": record("r", now - 1000) }))
        .ok(claimed());
}
