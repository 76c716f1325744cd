//! What both Workers are asked before they are measured: every measured route, in use and refused.

use serde_json::{Value, json};

use super::data::History;
use super::memory;
use crate::bench::load::Ask;

/// A store of its own: what is asked here leaves the measured ones alone.
const STORE: &str = "bench:equal";

/// The requests, in the order in which they make sense.
pub fn all(history: History) -> Vec<Ask> {
    let mut asks = records(history);
    asks.extend(lists());
    asks.extend(ledger());
    asks.extend(remembered());
    asks
}

fn ask(path: &'static str, fields: Value) -> Ask {
    let mut body = json!({ "storeKey": STORE });
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    Ask::json(path, &body)
}

fn records(history: History) -> Vec<Ask> {
    let record = |nth: usize| {
        let body = history.put(nth).body.unwrap_or_default();
        serde_json::from_str::<Value>(&body).map(|body| body["record"].clone()).unwrap_or_default()
    };
    let put = |record: Value| ask("/runs/put", json!({ "record": record }));
    let with = |name: &str, value: Value| {
        let mut record = record(0);
        record[name] = value;
        put(record)
    };
    let mut asks: Vec<_> = (0..30).map(|nth| put(record(nth))).collect();
    // Some that readers see otherwise than they came.
    asks.extend((30..34).map(|nth| {
        let mut record = record(nth);
        record["diagnosis"]["byCategory"] = json!({
            "retry": { "count": nth, "durationMs": 1.5, "more": true }, "later": { "count": 1, "durationMs": 1 },
        });
        match nth {
            30 => record["diagnosis"]["shape"] = json!({}),
            31 => drop(record.as_object_mut().and_then(|record| record.remove("channelVisibility"))),
            32 => record["bytes"] = json!(5),
            _ => {}
        }
        put(record)
    }));
    asks.extend([
        // The same, another version of it, and one from the future.
        put(record(3)),
        with("eventCount", json!(7)),
        with("finishedAt", json!(4_102_444_800_000_i64)),
        with(
            "events",
            json!([{ "type": "note", "seq": 9 }, { "type": "note", "seq": 3 }, { "type": "note" }]),
        ),
        with("label", json!("größer als \u{1F600} \u{2028} \"gesagt\"")),
        with("later", json!({ "of": [1.5, -2e-7, 1e21, true, null] })),
        with("id", json!("a b")),
        with("status", json!("fine")),
        with("agent", Value::Null),
        with("events", json!([{ "type": "note" }, { "type": 1 }])),
        with("events", json!({})),
        with("diagnosis", json!({})),
        with("channelVisibility", json!("open")),
        with("stepCount", json!(-1)),
        ask("/runs/put", json!({})),
        ask("/runs/put", json!({ "record": record(1), "policy": { "maxRuns": 0 }, "policyUpdatedAt": 1 })),
        ask("/runs/put", json!({ "record": record(1), "policy": { "maxRuns": 3 } })),
        ask("/runs/get", json!({ "id": "run-000000" })),
        ask("/runs/get", json!({ "id": "run-000007" })),
        ask("/runs/get", json!({ "id": "nobody" })),
        ask("/runs/get", json!({ "id": "a b" })),
        ask("/runs/get", json!({})),
        Ask::json("/runs/get", &json!({ "storeKey": "a b", "id": "x" })),
        ask("/runs/events", json!({ "id": "run-000007", "limit": 4 })),
        ask("/runs/events", json!({ "id": "run-000007", "limit": 6 })),
        ask("/runs/events", json!({ "id": "run-000007", "afterSeq": 2, "limit": 2 })),
        ask("/runs/events", json!({ "id": "run-000007", "afterSeq": 100 })),
        ask("/runs/events", json!({ "id": "nobody" })),
        ask("/runs/events", json!({ "id": "run-000007", "limit": 5001 })),
        ask("/runs/events", json!({ "id": "run-000007", "afterSeq": -1 })),
    ]);
    asks
}

fn lists() -> Vec<Ask> {
    let visible = |filter: Value| ask("/runs/list", json!({ "limit": 10, "visibleTo": filter }));
    let mut asks: Vec<_> =
        super::data::predicates().into_iter().map(|predicate| visible(predicate.filter)).collect();
    asks.extend([
        ask("/runs/list", json!({})),
        ask("/runs/list", json!({ "limit": 30 })),
        ask("/runs/list", json!({ "limit": 1000 })),
        ask("/runs/list", json!({ "agent": "coding", "channel": "slack:C004" })),
        ask("/runs/list", json!({ "sinceMs": 4_102_444_800_000_i64 })),
        ask("/runs/list", json!({ "before": 1, "beforeId": "x" })),
        ask("/runs/list", json!({ "limit": 0 })),
        ask("/runs/list", json!({ "limit": "5" })),
        ask("/runs/list", json!({ "before": null })),
        ask("/runs/list", json!({ "beforeId": "a b" })),
        ask("/runs/list", json!({ "agent": "x".repeat(201) })),
        visible(json!({ "kind": "none" })),
        visible(json!({ "kind": "everything" })),
        visible(json!({ "kind": "or", "of": [] })),
        visible(json!({ "kind": "and", "of": [] })),
        visible(json!({ "kind": "user-is", "userId": "" })),
        visible(json!({ "kind": "channels-in", "channelIds": vec!["C"; 101] })),
        visible(json!({ "kind": "visibility-in", "visibilities": ["open"] })),
        visible((0..9).fold(json!({ "kind": "all" }), |inner, _| json!({ "kind": "or", "of": [inner] }))),
    ]);
    asks
}

fn ledger() -> Vec<Ask> {
    let run = |run: &str, thread: &str, gen_: &str| {
        json!({
            "runId": run, "threadKey": thread, "gen": gen_, "leaseMs": 30_000, "startedAt": 1_790_000_000_000.5,
            "meta": { "agent": "coding" }, "card": { "channel": "C", "ts": "1.2" }, "system": "", "tools": [],
        })
    };
    let claim = |run: Value| ask("/runs/claim", json!({ "run": run }));
    let without = |name: &str, value: Value| {
        let mut run = run("r2", "t2", "g1");
        run[name] = value;
        claim(run)
    };
    let write = |path, run: &str, gen_: &str, fields: Value| {
        let mut body = json!({ "runId": run, "gen": gen_ });
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
            body.extend(fields);
        }
        ask(path, body)
    };
    let append = |run, gen_, events: Value| write("/runs/append", run, gen_, json!({ "events": events }));
    let beat = |run, gen_, lease: Value| write("/runs/heartbeat", run, gen_, json!({ "leaseMs": lease }));
    vec![
        ask("/runs/live", json!({})),
        claim(run("r1", "t1", "g1")),
        claim(run("r1", "t1", "g1")),
        claim(run("r1", "t1", "g2")),
        claim(run("r9", "t1", "g1")),
        claim(run("r1", "t9", "g1")),
        claim(json!([])),
        without("threadKey", json!("")),
        without("gen", json!("a b")),
        without("leaseMs", json!(999)),
        without("startedAt", Value::Null),
        without("meta", json!([])),
        without("card", json!({})),
        without("system", Value::Null),
        without("tools", json!({})),
        without("state", json!([])),
        without("card", Value::Null),
        ask("/runs/live", json!({})),
        append(
            "r1",
            "g1",
            json!([{ "seq": 1, "type": "note", "text": "ä \u{1F600}" }, { "seq": 2, "type": "x" }]),
        ),
        append("r1", "g1", json!([])),
        append("r1", "g1", json!([{ "seq": 3, "type": "note" }, { "seq": 0 }])),
        append("r1", "g1", json!([{ "seq": 3, "text": "x".repeat(65_536) }])),
        append("r1", "g1", json!({})),
        append("r1", "g2", json!([{ "seq": 4 }])),
        append("nobody", "g1", json!([{ "seq": 4 }])),
        beat("r1", "g1", json!(30_000)),
        beat("r1", "g2", json!(30_000)),
        beat("nobody", "g1", json!(30_000)),
        beat("r1", "g1", json!("30000")),
        // A tombstone, under which the ledger's events show.
        ask("/runs/events", json!({ "id": "r1" })),
    ]
}

fn remembered() -> Vec<Ask> {
    const SCOPE: &str = "bench:equal";
    let fact = |text: &str| json!({ "kind": "fact", "text": text, "sourceThreadKey": "t" });
    let write = |records: Value| Ask::json("/write", &json!({ "scopeKey": SCOPE, "records": records }));
    let with = |name: &str, value: Value| {
        let mut changed = fact("Said with care");
        changed[name] = value;
        write(json!([fact("Beside another"), changed]))
    };
    let find = |query: &str, limit: u32| {
        Ask::json("/retrieve", &json!({ "scopeKey": SCOPE, "query": query, "limit": limit }))
    };
    let mut asks = memory::fill(SCOPE, 40);
    asks.extend([
        write(json!([])),
        // Said again, twice in one batch, and replaced; by a record of its own batch too.
        write(json!([fact("Release on Tuesday"), fact("  release  ON tuesday"), fact("Größe zählt: 10 MB")])),
        write(json!([fact("release on tuesday"), fact("release on Monday")])),
        with("supersedes", json!("mem:bench:equal:40")),
        with("supersedes", json!("mem:bench:equal:40")),
        with("supersedes", json!("mem:other:1")),
        with("supersedes", json!("")),
        with("keywords", json!(["Deploy Day", "ÄÖ"])),
        with("kind", json!("rumour")),
        with("text", json!(" \n ")),
        with("text", json!("x".repeat(4001))),
        with("sourceThreadKey", json!("")),
        with("keywords", json!([""])),
        with("sourceRunId", json!(1)),
        with("confidence", json!(1.01)),
        Ask::json("/write", &json!({ "scopeKey": SCOPE, "records": [1] })),
        Ask::json("/write", &json!({ "scopeKey": SCOPE, "records": [], "cap": 0 })),
        Ask::json("/write", &json!({ "scopeKey": SCOPE, "records": [fact("One too many")], "cap": 5 })),
        Ask::json("/write", &json!({ "records": [] })),
        find("tuesday release", 5),
        find("monday", 50),
        find("\"tuesday\" OR NEAR(release) * text:", 5),
        find("?!", 5),
        find("", 5),
        find("deploy", 5),
        find("x", 0),
        find(&"x".repeat(4001), 5),
        Ask::json("/retrieve", &json!({ "scopeKey": SCOPE, "limit": 5 })),
    ]);
    asks
}
