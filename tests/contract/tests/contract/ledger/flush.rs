//! `/runs/flush` (docs/decisions/0007): for each run an append and a heartbeat.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{put, record, with, without},
};

use super::{HOUR, claim, claimed, no_objects, owned, run, wrong_generations, wrong_ids, wrong_leases};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/flush");
    fields(&mut table);
    fields_of_a_run(&mut table);
    ownership(&mut table, now);
    events(&mut table, now);
    leases(&mut table, now);
    stops_and_follow_ups(&mut table);
    table
}

fn event(seq: i64, text: &str) -> Value {
    json!({ "seq": seq, "type": "text", "text": text })
}

/// Returns the entry of run `r` without events.
fn quiet() -> Value {
    entry("r", &[])
}

fn entry(run: &str, events: &[Value]) -> Value {
    json!({ "runId": run, "events": events, "inboxAfter": 0 })
}

/// Returns a flush of these runs by `g1`.
fn flush(runs: &[Value]) -> Value {
    json!({ "gen": "g1", "runs": runs })
}

/// Returns a flush of these runs by `g1` that extends their leases.
fn beat(lease_ms: i64, runs: &[Value]) -> Value {
    with(flush(runs), json!({ "leaseMs": lease_ms }))
}

fn events_of(run: &str) -> Value {
    json!({ "runId": run })
}

fn fields(table: &mut Table) {
    for field in ["gen", "runs"] {
        table.case(format!("{field} is required")).refused(field, without(flush(&[]), field));
    }
    table.refuses("gen", &wrong_generations(), |by| with(flush(&[]), json!({ "gen": by })));
    table.refuses("leaseMs", &wrong_leases(), |lease| with(flush(&[]), json!({ "leaseMs": lease })));
    table.refuses("runs", &[json!(null), json!({}), json!(7), json!(WRONG)], |runs| {
        with(flush(&[]), json!({ "runs": runs }))
    });
    table.refuses("runs[1]", &[json!(null), json!(7), json!(WRONG), json!([])], |run| flush(&[quiet(), run]));
    let many = |count: usize| (0..count).map(|n| entry(&format!("r{n}"), &[])).collect::<Vec<_>>();
    table.case("more than the maximum number of runs").refused("runs", flush(&many(501)));
    table.case("no runs give no entries").ok(flush(&[]));
    table
        .case("duplicate run")
        .given("/runs/claim", claimed())
        .refused("runs[2].runId", flush(&[entry("r", &[event(1, "a")]), entry("s", &[]), quiet()]))
        .then("/runs/live-events", events_of("r"));
}

fn fields_of_a_run(table: &mut Table) {
    for field in ["runId", "events", "inboxAfter"] {
        let place = format!("runs[1].{field}");
        table
            .case(format!("{field} of a run is required"))
            .refused(&place, flush(&[entry("s", &[]), without(quiet(), field)]));
    }
    table.refuses("runs[0].runId", &wrong_ids(), |id| flush(&[with(quiet(), json!({ "runId": id }))]));
    let wrong = [json!(null), json!(-1), json!(0.5), json!("0"), json!(WRONG)];
    table.refuses("runs[0].inboxAfter", &wrong, |after| {
        flush(&[with(quiet(), json!({ "inboxAfter": after }))])
    });
    table.refuses("runs[0].events", &[json!(null), json!({}), json!(WRONG)], |events| {
        flush(&[with(quiet(), json!({ "events": events }))])
    });
    let seqs = [json!(null), json!(0), json!(-1), json!(1.5), json!("1"), json!(9_007_199_254_740_993_i64)];
    table.refuses("runs[0].events[1].seq", &seqs, |seq| {
        flush(&[entry("r", &[event(1, "a"), json!({ "seq": seq, "type": "text" })])])
    });
    table.refuses("runs[0].events[1]", &no_objects(), |wrong| flush(&[entry("r", &[event(1, "a"), wrong])]));
    table
        .case("one invalid event rejects the whole request and is named")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .refused(
            "runs[1].events[1].seq",
            beat(1000, &[entry("r", &[event(1, "a")]), entry("s", &[event(1, "b"), event(0, "c")])]),
        )
        .then("/runs/live-events", events_of("r"))
        .then("/runs/live", json!({}));
    table
        .case("one oversized event rejects the whole request")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .refused(
            "runs[1].events[0]",
            flush(&[entry("r", &[event(1, "a")]), entry("s", &[event(1, &"x".repeat(65_536))])]),
        )
        .then("/runs/live-events", events_of("r"));
}

fn ownership(table: &mut Table, now: i64) {
    table.case("unclaimed run").ok(flush(&[entry("r", &[event(1, "a")])]));
    table
        .case("another store's run")
        .given("/runs/claim", claimed())
        .ok(with(flush(&[quiet()]), json!({ "storeKey": "runs:another" })));
    table
        .case("one lost run does not affect the others, and answers are in the request's order")
        .given("/runs/claim", claim(run("mine", "t1", "g1")))
        .given("/runs/claim", claim(run("theirs", "t2", "g2")))
        .given("/runs/claim", claim(run("also-mine", "t3", "g1")))
        .ok(beat(2000, &["theirs", "mine", "nobodys", "also-mine"].map(|run| entry(run, &[event(1, run)]))))
        .then("/runs/live", json!({}))
        .then("/runs/live-events", events_of("mine"))
        .then("/runs/live-events", events_of("also-mine"))
        .then("/runs/live-events", events_of("theirs"))
        .then("/runs/live-events", events_of("nobodys"));
    table
        .case("run reclaimed by another generation")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }))
        .ok(beat(HOUR, &[entry("r", &[event(1, "a")])]))
        .then("/runs/live-events", events_of("r"));
    table
        .case("finished run")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(flush(&[entry("r", &[event(1, "a")])]))
        .then("/runs/live-events", events_of("r"));
    table
        .case("maximum number of runs")
        .given_each("/runs/claim", (0..3).map(|n| claim(run(&format!("r{n}"), &format!("t{n}"), "g1"))))
        .ok(flush(&(0..500).map(|n| entry(&format!("r{n}"), &[event(1, "a")])).collect::<Vec<_>>()))
        .then("/runs/live-events", events_of("r2"));
}

fn events(table: &mut Table, now: i64) {
    table
        .case("event replaces the one with its seq, the last duplicate wins")
        .given("/runs/claim", claimed())
        .given("/runs/append", owned(json!({ "events": [event(1, "a"), event(2, "b")] })))
        .ok(flush(&[entry("r", &[event(3, "c"), event(2, "B"), event(3, "C")])]))
        .then("/runs/live-events", events_of("r"));
    table
        .case("repeated flush changes nothing")
        .given("/runs/claim", claimed())
        .given("/runs/flush", flush(&[entry("r", &[event(1, "a"), event(2, "b")])]))
        .ok(flush(&[entry("r", &[event(1, "a"), event(2, "b")])]))
        .then("/runs/live-events", events_of("r"));
    table
        .case("unknown fields of an event are kept, and an untyped one is stored but not returned")
        .given("/runs/claim", claimed())
        .ok(flush(&[entry(
            "r",
            &[
                json!({ "type": "of a later age", "seq": 4.0, "deep": { "a": [1.5, null, "\u{1f600}\u{0}"] } }),
                json!({ "seq": 5 }),
                json!({ "type": "great", "seq": 9_007_199_254_740_991_i64 }),
            ],
        )]))
        .then("/runs/live-events", events_of("r"));
    table
        .case("lone surrogate in one run is replaced")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .ok_text(
            r#"{"storeKey":"$KEY","gen":"g1","runs":[{"runId":"r","inboxAfter":0,"events":[{"seq":1,"type":"a\ud83d"}]},
                {"runId":"s","inboxAfter":0,"events":[{ "seq": 1, "type": "a b" }]}]}"#,
        )
        .then("/runs/live-events", events_of("r"))
        .then("/runs/live-events", events_of("s"));
    table
        .case("nearly two megabytes of two runs")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .ok(beat(
            HOUR,
            &["r", "s"].map(|id| {
                entry(id, &(1..=15).map(|seq| event(seq, &"é".repeat(32_000))).collect::<Vec<_>>())
            }),
        ))
        .then("/runs/live-events", events_of("r"))
        .then("/runs/live-events", events_of("s"));
    table
        .case("events of a run with a tombstone are kept and visible")
        .given("/runs/claim", claimed())
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(flush(&[entry("r", &[event(1, "a")])]))
        .then("/runs/get", json!({ "id": "r" }));
}

fn leases(table: &mut Table, now: i64) {
    table
        .case("without leaseMs the lease stays")
        .given("/runs/claim", claimed())
        .ok(flush(&[quiet()]))
        .then("/runs/live", json!({}));
    table
        .case("with leaseMs the named runs' leases start at the store's clock")
        .given_each("/runs/claim", ["r", "s", "t"].map(|id| claim(run(id, id, "g1"))))
        .ok(beat(1000, &[quiet(), entry("t", &[])]))
        .then("/runs/live", json!({}));
    table
        .case("owner with an expired lease extends it")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR, "now": now - 10 * HOUR }))
        .ok(with(beat(HOUR, &[entry("r", &[event(1, "after the lease")])]), json!({ "gen": "g2" })))
        .then("/runs/live", json!({}));
}

fn stops_and_follow_ups(table: &mut Table) {
    for mode in ["soft", "hard"] {
        table
            .case(format!("{mode} stop is returned repeatedly"))
            .given("/runs/claim", claimed())
            .given("/runs/stop", json!({ "runId": "r", "mode": mode }))
            .ok(flush(&[quiet()]))
            .then("/runs/flush", beat(HOUR, &[quiet()]));
    }
    table
        .case("handed-off and finishing runs receive it")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .given("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }))
        .given("/runs/finishing", owned(json!({ "runId": "s" })))
        .ok(flush(&[quiet(), entry("s", &[event(1, "while finishing")])]));
    let message = |run: &str, text: &str| json!({ "runId": run, "message": { "text": text } });
    let left =
        [message("r", "one"), message("r", "two"), message("s", "of another run"), message("r", "three")];
    let after = |seq: i64| with(quiet(), json!({ "inboxAfter": seq }));
    table
        .case("follow-ups are returned in order until the cursor passes them")
        .given_each("/runs/claim", ["r", "s"].map(|id| claim(run(id, id, "g1"))))
        .given_each("/runs/inbox", left)
        .ok(flush(&[quiet(), entry("s", &[])]))
        .then("/runs/flush", flush(&[after(2)]))
        .then("/runs/flush", flush(&[after(3)]))
        .then("/runs/flush", flush(&[after(9_007_199_254_740_991)]));
    table
        .case("follow-ups are returned only to the owner")
        .given("/runs/claim", claimed())
        .given("/runs/inbox", message("r", "one"))
        .ok(with(flush(&[quiet()]), json!({ "gen": "g2" })));
    table
        .case("large inboxes are returned in parts")
        .given("/runs/claim", claimed())
        .given_each("/runs/inbox", (0..5).map(|n| message("r", &format!("{n}{}", "é".repeat(200_000)))))
        .ok(flush(&[quiet()]))
        .then("/runs/flush", flush(&[after(3)]));
}
