//! The live run ledger: large requests, and values that sequences in `tests/workerd` do not have.

use serde_json::{Value, json};

use ars_tests_contract::records::{record, run, step, with};

use crate::pair::{DAY, Pair};

/// An hour, the longest lease.
const HOUR: i64 = 3_600_000;

fn owned(fields: Value) -> Value {
    with(json!({ "runId": "r", "gen": "g1" }), fields)
}

fn event(seq: i64, text: &str) -> Value {
    json!({ "seq": seq, "type": "text", "text": text })
}

fn entry(run: &str, events: &[Value]) -> Value {
    json!({ "runId": run, "events": events, "inboxAfter": 0 })
}

fn claim(pair: &mut Pair, id: &str) {
    pair.ok("/runs/claim", json!({ "run": run(id, id, "g1") }));
}

fn hand_over(pair: &mut Pair, generation: &str) -> Value {
    pair.ok("/runs/handoff", json!({ "gen": "g1", "runIds": ["r"] }));
    pair.ok(
        "/runs/reclaim",
        json!({ "gen": generation, "leaseMs": HOUR }),
    )
}

#[test]
fn rows_of_a_live_run_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:rows");
    let whole = with(
        run("r", &"é".repeat(256), "g1"),
        json!({
            "startedAt": (pair.base - DAY) as f64 - 0.5, "ofALaterVersion": true,
            "meta": { "agent": { "name": "x" }, "deep": { "a": [1.5, null] }, "b": "\u{1f600}\u{0}" },
            "card": { "channel": "C1", "ts": "1.2", "more": true }, "state": { "phase": 1 },
            "system": "You are \"careful\".\n", "tools": [{ "name": "bash" }, 7],
        }),
    );
    pair.ok("/runs/claim", json!({ "run": whole }));
    pair.ok("/runs/claim", json!({ "run": whole }));
    // Neither names an agent that is no text.
    pair.ask(
        "/runs/claim",
        409,
        json!({ "run": with(whole.clone(), json!({ "runId": "r2" })) }),
    );
    pair.ask(
        "/runs/claim",
        409,
        json!({ "run": run("r", "elsewhere", "g2") }),
    );
    for (id, at) in [("late", 3.5), ("b", 2.0), ("a", 2.0), ("early", -1.0)] {
        pair.ok(
            "/runs/claim",
            json!({ "run": with(run(id, id, "g1"), json!({ "startedAt": at })) }),
        );
    }
    pair.ok(
        "/runs/state",
        owned(json!({ "state": { "b": { "d": [1.5, null, "\u{1f600}"] } } })),
    );
    for (number, seq) in [(9, 9e15), (10, 2.5), (10, 2.0), (2, 1.0)] {
        let calls = json!([{ "callId": "c", "tool": "bash", "more": 1 }]);
        let record = with(
            step(number),
            json!({ "seq": seq, "inFlight": calls, "inboxConsumedSeq": 2, "later": [null] }),
        );
        pair.ask(
            "/runs/step",
            if seq == 2.5 { 400 } else { 200 },
            owned(json!({ "record": record })),
        );
    }
    for n in 1..=12 {
        pair.ok(
            "/runs/inbox",
            json!({ "runId": "r", "message": { "n": n, "text": "\u{1f600} \"\n" } }),
        );
    }
    pair.ok("/runs/stop", json!({ "runId": "r", "mode": "soft" }));
    pair.ok("/runs/heartbeat", owned(json!({ "leaseMs": 1000 })));
    pair.ok("/runs/live", json!({}));
    for thread in ["early", "none", "\u{1f600}\u{0}"] {
        pair.ok("/runs/live", json!({ "threadKey": thread }));
    }
    hand_over(&mut pair, "g2");
    // Times have fractions.
    let at = pair.base + 2 * DAY + 10 * HOUR;
    for (generation, now) in [
        ("g3", at as f64),
        ("g4", (at + HOUR) as f64 - 0.5),
        ("g5", (at + HOUR) as f64),
    ] {
        pair.ok(
            "/runs/reclaim",
            json!({ "gen": generation, "leaseMs": HOUR, "now": now, "except": ["early"] }),
        );
    }
    pair.ask("/runs/finishing", 409, owned(json!({})));
    pair.ok("/runs/live", json!({ "storeKey": "runs:another" }));
    pair.finish();
}

#[test]
fn idempotency_keys_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:keys");
    let keyed = |id: &str, subject: &str, digit: &str| {
        let idempotency =
            json!({ "subject": subject, "key": "k~", "fingerprint": digit.repeat(64) });
        json!({ "run": with(run(id, id, "g1"), json!({ "idempotency": idempotency })) })
    };
    let lookup = |subject: &str| json!({ "subject": subject, "key": "k~" });
    pair.ok("/runs/first-use", lookup("ann"));
    pair.ok("/runs/claim", keyed("r", "ann", "a"));
    pair.ok("/runs/claim", keyed("r", "ann", "a"));
    pair.ask("/runs/claim", 409, keyed("s", "ann", "b"));
    pair.ok("/runs/claim", keyed("s", "\u{1f600}\u{0}", "b"));
    for subject in ["ann", "\u{1f600}\u{0}", "bob"] {
        pair.ok("/runs/first-use", lookup(subject));
    }
    pair.finish();
}

#[test]
fn events_of_live_runs_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:events");
    for id in ["r", "s"] {
        claim(&mut pair, id);
    }
    let odd = [
        json!({ "type": "of a later age", "seq": 4.0, "deep": { "a": [1.5, null, "\u{1f600}\u{0}"] } }),
        json!({ "seq": 5 }),
        json!({ "type": 7, "seq": 6 }),
        json!({ "type": "great", "seq": 9_007_199_254_740_991_i64 }),
    ];
    pair.ok("/runs/append", owned(json!({ "events": odd })));
    pair.ok(
        "/runs/flush",
        json!({ "gen": "g1", "runs": [entry("s", &odd), entry("nobodys", &[])] }),
    );
    // A lone surrogate in a run, another spacing in the other.
    pair.ask_text(
        "/runs/flush",
        200,
        r#"{"storeKey":"runs:events","gen":"g1","runs":[{"runId":"r","inboxAfter":0,"events":[{"seq":1,"type":"a\ud83d"}]},
            {"runId":"s","inboxAfter":0,"events":[{ "seq": 1, "type": "a b" }]}]}"#,
    );
    let many: Vec<_> = (100..1600).map(|seq| event(seq, "x")).collect();
    pair.ok("/runs/append", owned(json!({ "events": many })));
    let large: Vec<_> = (2000..2031)
        .map(|seq| event(seq, &"é".repeat(32_000)))
        .collect();
    pair.ok("/runs/append", owned(json!({ "events": large })));
    let halves = ["r", "s"].map(|id| entry(id, &large[..15]));
    pair.ok(
        "/runs/flush",
        json!({ "gen": "g1", "leaseMs": HOUR, "runs": halves }),
    );
    pair.ask(
        "/runs/append",
        400,
        owned(json!({ "events": [event(1, "a"), event(2, &"x".repeat(65_537))] })),
    );
    for id in ["r", "s", "nobodys"] {
        pair.ok("/runs/live-events", json!({ "runId": id }));
        pair.ok(
            "/runs/live-events",
            json!({ "runId": id, "afterSeq": 2000 }),
        );
    }
    // The record's events replace them.
    let events = [event(1, "z"), event(5, "z")];
    let record = with(
        record("r", pair.base - DAY),
        json!({ "events": events, "eventCount": 2, "storedEventCount": 2 }),
    );
    pair.ok("/runs/finish", owned(json!({ "record": record })));
    pair.ok("/runs/live-events", json!({ "runId": "r" }));
    pair.ask("/runs/finish", 409, owned(json!({ "record": record })));
    pair.finish();
}

#[test]
fn large_ledger_answers_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:large");
    for id in ["r", "a", "b", "c", "d"] {
        let system = "\u{1f600}\"\n".repeat(64_000);
        pair.ok(
            "/runs/claim",
            json!({ "run": with(run(id, id, "g1"), json!({ "system": system })) }),
        );
    }
    pair.ok("/runs/live", json!({}));
    for n in 0..104 {
        let text = format!("{n}{}", "é".repeat(5_000));
        pair.ok(
            "/runs/inbox",
            json!({ "runId": "r", "message": { "text": text } }),
        );
    }
    for after in [0, 100] {
        let runs = [
            with(entry("r", &[]), json!({ "inboxAfter": after })),
            entry("a", &[]),
        ];
        pair.ok("/runs/flush", json!({ "gen": "g1", "runs": runs }));
    }
    hand_over(&mut pair, "g2");
    // More runs than a statement has parameters.
    pair.store("runs:many");
    let ids: Vec<_> = (0..120).map(|n| format!("r{n}")).collect();
    for id in &ids {
        claim(&mut pair, id);
    }
    let runs: Vec<_> = (0..500)
        .map(|n| entry(&format!("r{n}"), &[event(1, "a")]))
        .collect();
    pair.ok("/runs/flush", json!({ "gen": "g1", "runs": runs }));
    pair.ok("/runs/live-events", json!({ "runId": "r119" }));
    pair.ok("/runs/handoff", json!({ "gen": "g1", "runIds": ids }));
    let reclaimed = pair.ok("/runs/reclaim", json!({ "gen": "g2", "leaseMs": HOUR }));
    assert_eq!(reclaimed["runs"].as_array().unwrap().len(), 120);
    pair.finish();
}
