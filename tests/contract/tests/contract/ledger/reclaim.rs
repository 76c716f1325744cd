//! `/runs/reclaim`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{record, with, without},
};

use super::{HOUR, claim, claimed, owned, run, step, wrong_generations, wrong_leases};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/reclaim");
    let by = |generation: &str| json!({ "gen": generation, "leaseMs": HOUR });
    for field in ["gen", "leaseMs"] {
        table.case(format!("{field} is required")).refused(field, without(by("g2"), field));
    }
    table.refuses("gen", &wrong_generations(), |generation| with(by("g2"), json!({ "gen": generation })));
    table.refuses("leaseMs", &wrong_leases(), |lease| with(by("g2"), json!({ "leaseMs": lease })));
    table.refuses("now", &[json!(null), json!("0"), json!(WRONG), json!([])], |at| {
        with(by("g2"), json!({ "now": at }))
    });
    selection(&mut table, now);
    content(&mut table, now);
    table
}

fn handed_off() -> Value {
    json!({ "gen": "g1", "runIds": ["r"] })
}

fn selection(table: &mut Table, now: i64) {
    let by = |generation: &str| json!({ "gen": generation, "leaseMs": HOUR });
    let later = |generation: &str| with(by(generation), json!({ "now": now + 10 * HOUR }));
    table.case("empty store has none to reclaim").ok(by("g2"));
    table
        .case("run with an unexpired lease stays with its owner")
        .given("/runs/claim", claimed())
        .ok(by("g2"))
        .then("/runs/live", json!({}));
    table
        .case("handed-off run is reclaimed before its lease expires")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", handed_off())
        .ok(by("g2"))
        .then("/runs/live", json!({}));
    table
        .case("expired lease is reclaimed")
        .given("/runs/claim", claimed())
        .ok(later("g2"))
        .then("/runs/live", json!({}));
    table
        .case("finishing run is reported as such and is live again")
        .given("/runs/claim", claimed())
        .given("/runs/state", owned(json!({ "state": { "finalStatus": "failed" } })))
        .given("/runs/finishing", owned(json!({})))
        .ok(later("g2"))
        .then("/runs/live", json!({}));
    table
        .case("own expired run is not reclaimed")
        .given("/runs/claim", claimed())
        .ok(later("g1"))
        .then("/runs/live", json!({}));
    table
        .case("own handed-off run is not reclaimed")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", handed_off())
        .ok(later("g1"))
        .then("/runs/live", json!({}));
    // The lease is exact if the caller sent `now`.
    let known = |table: &mut Table, name: &str, at: f64| {
        table
            .case(name)
            .given("/runs/claim", claimed())
            .given("/runs/handoff", handed_off())
            .given("/runs/reclaim", with(by("g2"), json!({ "now": now + 10 * HOUR })))
            .ok(with(by("g3"), json!({ "now": at })));
    };
    known(table, "a lease that ends at this very millisecond has lapsed", (now + 11 * HOUR) as f64);
    known(table, "a lease that ends in a millisecond has not", (now + 11 * HOUR - 1) as f64);
    known(table, "time has fractions", (now + 11 * HOUR) as f64 - 0.5);
    table
        .case("runs are reclaimed by one generation only")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", handed_off())
        .given("/runs/reclaim", by("g2"))
        .ok(by("g3"));
    table
        .case("several runs are sorted by start, earliest first")
        .given_each(
            "/runs/claim",
            [("b", 2, "g1"), ("c", 3, "g2"), ("a", 1, "g3"), ("own", 0, "g9")]
                .map(|(id, at, generation)| claim(with(run(id, id, generation), json!({ "startedAt": at })))),
        )
        .ok(later("g9"));
    table
        .case("another store's runs are not reclaimed")
        .given("/runs/claim", claimed())
        .ok(with(later("g2"), json!({ "storeKey": "runs:another" })));
}

fn content(table: &mut Table, now: i64) {
    let by = |generation: &str| json!({ "gen": generation, "leaseMs": HOUR });
    table
        .case("stop, meta, card and state stay")
        .given(
            "/runs/claim",
            claim(with(
                run("r", "t", "g1"),
                json!({ "meta": { "agent": "coding" }, "card": { "channel": "C", "ts": "1" }, "state": { "a": 1 },
                    "system": "s", "tools": [1] }),
            )),
        )
        .given("/runs/stop", json!({ "runId": "r", "mode": "soft" }))
        .given("/runs/handoff", handed_off())
        .ok(by("g2"));
    let inbox = |n: i64| json!({ "runId": "r", "message": { "n": n } });
    table
        .case("without a step record the whole inbox is returned")
        .given("/runs/claim", claimed())
        .given_each("/runs/inbox", (1..=12).map(inbox))
        .given("/runs/handoff", handed_off())
        .ok(by("g2"));
    table
        .case("inbox entries that the last step has not consumed")
        .given("/runs/claim", claimed())
        .given_each("/runs/inbox", (1..=4).map(inbox))
        .given("/runs/step", owned(json!({ "record": with(step(1), json!({ "inboxConsumedSeq": 4 })) })))
        .given("/runs/step", owned(json!({ "record": with(step(2), json!({ "inboxConsumedSeq": 2 })) })))
        .given("/runs/handoff", handed_off())
        .ok(by("g2"));
    table
        .case("highest step is returned unchanged, with calls in flight")
        .given("/runs/claim", claimed())
        .given_each(
            "/runs/step",
            [9, 10, 2].map(|n| {
                owned(json!({ "record": with(step(n), json!({
            "inFlight": [{ "callId": "c", "tool": "bash" }], "more": n })) }))
            }),
        )
        .given("/runs/handoff", handed_off())
        .ok(by("g2"));
    table
        .case("reclaimed run accepts its new owner and can be reclaimed again")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", handed_off())
        .given("/runs/reclaim", by("g2"))
        .given("/runs/step", json!({ "runId": "r", "gen": "g2", "record": step(1) }))
        .given("/runs/handoff", json!({ "gen": "g2", "runIds": ["r"] }))
        .ok(by("g1"))
        .then("/runs/finish", owned(json!({ "record": record("r", now - 1000) })));
}
