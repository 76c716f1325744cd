//! Finished runs: stored texts and numbers, retention, pages and filters.

use serde_json::{Value, json};

use ars_tests_contract::records::{record, with};

use crate::pair::{DAY, Pair};

fn of_events(id: &str, finished_at: i64, events: &[Value]) -> Value {
    let count = events.len();
    with(
        record(id, finished_at),
        json!({ "eventCount": count, "storedEventCount": count, "events": events }),
    )
}

fn put(pair: &mut Pair, record: &Value) -> Value {
    pair.ok("/runs/put", json!({ "record": record }))
}

fn proposed(pair: &mut Pair, record: &Value, policy: Value, stamp: i64) -> Value {
    pair.ok(
        "/runs/put",
        json!({ "record": record, "policy": policy, "policyUpdatedAt": stamp }),
    )
}

/// Reads a run by every route.
fn read(pair: &mut Pair, id: &str) {
    for path in ["/runs/get", "/runs/summary", "/runs/events"] {
        pair.ok(path, json!({ "id": id }));
    }
    pair.ok("/runs/list", json!({}));
}

#[test]
fn stored_records_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:../'x'\";--%00\u{fffd}\u{1f600}");
    let old = pair.base - DAY;
    let every_field = with(
        of_events(
            "r",
            old,
            &[
                json!({ "seq": 3, "type": "text", "text": "line\none \"é\" \u{1f600} \u{0}" }),
                json!({ "seq": 5, "type": "of a later age", "deep": { "a": [1, 2.5, null, true] } }),
            ],
        ),
        json!({
            "label": "\u{0}l", "agent": "coding", "model": "vendor/model", "repo": "acme/app", "channelVisibility": "dm",
            "receivedAt": old - 4000, "sealedAt": old + 500, "replyOk": false, "stepCount": 3, "schema": 2,
            "eventCount": -1, "storedEventCount": 1.5, "truncated": true, "finishedAt": old as f64 + 0.5,
            "ofALaterVersion": { "kept": [true, null, 1e300, -0.1, 18_446_744_073_709_551_615_u64] },
        }),
    );
    let diagnosis = json!({
        "findings": [{ "category": "retry" }], "eventCount": 3, "verdict": "v", "runMs": 5, "toolCalls": "x",
        "byCategory": { "infra_failure": { "count": 1, "durationMs": 2.5, "more": 1 }, "of_an_earlier_age": { "count": 9,
            "durationMs": 9 } },
    });
    let future = json!({ "finishedAt": old + 365 * DAY, "receivedAt": old + 365 * DAY });
    for record in [
        record("r", old),
        record("r", old),
        every_field,
        with(
            record("r", old),
            json!({ "diagnosis": diagnosis, "label": "" }),
        ),
        with(record("r", old), future),
        record("r", old - 31 * DAY),
        of_events("r", old, &[json!({ "type": "a" }), json!({ "type": "b" })]),
        of_events(
            "r",
            old,
            &[json!({ "type": "c", "seq": 9_007_199_254_740_991_i64 })],
        ),
        of_events(
            "r",
            old,
            &[
                json!({ "type": "c", "seq": 9_007_199_254_740_993_i64 }),
                json!({ "type": "c", "seq": 1.5 }),
            ],
        ),
    ] {
        put(&mut pair, &record);
        read(&mut pair, "r");
    }
    let text = json!({ "storeKey": "runs:mended", "record": with(record("r", old), json!({ "label": "LABEL" })) });
    pair.ask_text(
        "/runs/put",
        200,
        &text.to_string().replace("LABEL", r"a\ud83d b\ud83d\ude00"),
    );
    pair.ask_text(
        "/runs/get",
        200,
        r#"{"storeKey":"elsewhere","storeKey":"runs:mended","id":"r"}"#,
    );
    pair.ask(
        "/runs/put",
        400,
        json!({ "record": with(record("r", old), json!({ "status": "running" })) }),
    );
    pair.ask_text("/runs/list", 400, r#"{"storeKey":"x","before":1e999}"#);
    for _ in 0..2 {
        pair.ok("/runs/delete", json!({ "id": "r" }));
        read(&mut pair, "r");
    }
    pair.finish();
}

#[test]
fn large_records_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:large");
    let old = pair.base - DAY;
    let text = "é\"\n".repeat(12 * 1024);
    let large: Vec<_> = (1..=24)
        .map(|seq| json!({ "seq": seq, "type": "text", "text": text }))
        .collect();
    put(&mut pair, &of_events("text", old, &large));
    put(
        &mut pair,
        &of_events(
            "one",
            old,
            &[json!({ "seq": 1, "type": "x".repeat(2_000_000) })],
        ),
    );
    put(
        &mut pair,
        &with(record("label", old), json!({ "label": "y".repeat(65_000) })),
    );
    pair.ask(
        "/runs/put",
        400,
        json!({ "record": with(record("label", old), json!({ "label": "y".repeat(65_536) })) }),
    );
    for id in ["text", "one", "label"] {
        read(&mut pair, id);
    }
    let many: Vec<_> = (1..=5001)
        .map(|seq| json!({ "type": "a", "seq": 2 * seq }))
        .collect();
    put(&mut pair, &of_events("many", old, &many));
    for page in [
        json!({}),
        json!({ "limit": 5000 }),
        json!({ "limit": 2.0, "afterSeq": 9997 }),
        json!({ "afterSeq": 1e300 }),
    ] {
        pair.ok("/runs/events", with(page, json!({ "id": "many" })));
    }
    pair.finish();
}

#[test]
fn retention_is_equal() {
    let mut pair = Pair::start();
    let old = pair.base - DAY;
    pair.store("runs:count");
    for (id, ago) in [("a", 3000), ("c", 2000), ("b", 2000)] {
        put(&mut pair, &record(id, old - ago));
    }
    let year = 365 * DAY;
    for (id, max_runs, stamp) in [
        ("d", 2, 0),
        ("d", 2, old),
        ("e", 1, old),
        ("f", 1, old - 1),
        ("g", 3, old + year),
    ] {
        proposed(
            &mut pair,
            &record(id, old - 1000),
            json!({ "maxRuns": max_runs }),
            stamp,
        );
        pair.ok("/runs/list", json!({}));
        pair.ok("/runs/get", json!({ "id": "a" }));
    }
    pair.store("runs:days");
    proposed(
        &mut pair,
        &record("old", old - 400 * DAY),
        json!({ "retentionDays": 9999, "maxRuns": 9e15 }),
        old,
    );
    put(&mut pair, &record("kept", old - 363 * DAY));
    proposed(
        &mut pair,
        &record("young", old),
        json!({ "retentionDays": 2 }),
        old + 1,
    );
    pair.ok("/runs/list", json!({}));
    pair.store("runs:bytes");
    proposed(
        &mut pair,
        &record("small-and-old", old - 90_000),
        json!({ "maxBytes": 1 }),
        old,
    );
    let text = json!({ "type": "text", "text": "x".repeat(60_000) });
    for n in 0..10 {
        put(
            &mut pair,
            &of_events(
                &format!("large-{n}"),
                old - 50_000 + n,
                &vec![text.clone(); 30],
            ),
        );
    }
    let listed = pair.ok("/runs/list", json!({}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 9);
    // A finish also applies the policy.
    pair.ok(
        "/runs/claim",
        json!({ "run": ars_tests_contract::records::run("r", "t", "g1") }),
    );
    let finish = json!({ "runId": "r", "gen": "g1", "record": record("r", old), "policy": { "maxRuns": 1 } });
    pair.ok(
        "/runs/finish",
        with(finish, json!({ "policyUpdatedAt": old + 1 })),
    );
    pair.ok("/runs/list", json!({}));
    pair.finish();
}

/// Stores runs that differ in the fields that filters read, some at equal times.
fn filtered(pair: &mut Pair) {
    let old = pair.base - DAY;
    for (id, ago, fields) in [
        (
            "a",
            3000.0,
            json!({ "agent": "coding", "channelId": "C1", "repo": "o/n", "channelVisibility": "public" }),
        ),
        (
            "B",
            2000.0,
            json!({ "agent": "coding", "channelId": "C2", "userId": "U2", "channelVisibility": "private" }),
        ),
        (
            "_",
            2000.0,
            json!({ "agent": "", "channelId": "C1", "repo": "o/m" }),
        ),
        (
            "-",
            2000.0,
            json!({ "channelId": "", "userId": "", "repo": "", "channelVisibility": "dm" }),
        ),
        ("late", 0.25, json!({ "channelId": "' OR 1=1 --\u{0}" })),
        ("later", 0.125, json!({})),
    ] {
        let times = json!({ "finishedAt": old as f64 - ago, "startedAt": 0 });
        put(pair, &with(with(record(id, old), fields), times));
    }
}

#[test]
fn pages_and_filters_are_equal() {
    let mut pair = Pair::start();
    pair.store("runs:filters");
    filtered(&mut pair);
    let old = pair.base - DAY;
    for body in [
        json!({}),
        json!({ "limit": 1 }),
        json!({ "limit": 2, "before": old as f64 - 0.125, "beforeId": "later" }),
        json!({ "limit": 2, "before": old - 2000, "beforeId": "_" }),
        json!({ "before": old - 2000 }),
        json!({ "before": old - 1500, "beforeId": "zzz" }),
        json!({ "before": -1e300, "beforeId": "a" }),
        json!({ "limit": 1e300, "sinceMs": old as f64 - 0.25 }),
        json!({ "agent": "coding", "channel": "C2", "sinceMs": old - 2000, "limit": 1 }),
        json!({ "agent": "" }),
        json!({ "channel": "' OR 1=1 --\u{0}" }),
        json!({ "storeKey": "runs:another" }),
    ] {
        pair.ok("/runs/list", body);
    }
    let user = |id: &str| json!({ "kind": "user-is", "userId": id });
    let channels = |ids: &[String]| json!({ "kind": "channels-in", "channelIds": ids });
    let ids: Vec<_> = (0..99)
        .map(|n| format!("C{n}"))
        .chain(["' OR 1=1 --\u{0}".to_owned()])
        .collect();
    let either = |of: Vec<Value>| json!({ "kind": "or", "of": of });
    let both = |of: Vec<Value>| json!({ "kind": "and", "of": of });
    for predicate in [
        json!({ "kind": "all" }),
        json!({ "kind": "none" }),
        user("U1"),
        channels(&ids),
        json!({ "kind": "repos-in", "repos": ["o/n", "o/m"] }),
        json!({ "kind": "visibility-in", "visibilities": ["private", "unknown"] }),
        either(vec![
            user("U2"),
            both(vec![user("U1"), channels(&ids[..2])]),
        ]),
        either(vec![]),
        both(vec![]),
        either((0..100).map(|n| user(&format!("U{n}"))).collect()),
        either(vec![channels(&[]); 1000]),
        (0..8).fold(user("U2"), |inner, _| either(vec![inner])),
    ] {
        pair.ok("/runs/list", json!({ "visibleTo": predicate }));
    }
    pair.ask(
        "/runs/list",
        400,
        json!({ "visibleTo": either(vec![user("U1"); 101]) }),
    );
    pair.store("runs:many");
    for n in 0..201 {
        put(&mut pair, &record(&format!("r{n:03}"), old - n));
    }
    for body in [
        json!({}),
        json!({ "limit": 201 }),
        json!({ "before": old - 199, "beforeId": "r199" }),
    ] {
        pair.ok("/runs/list", body);
    }
    pair.finish();
}
