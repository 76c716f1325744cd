//! `/runs/put`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{put, record, record_of, with, without},
};

use super::wrong_ids;

const DAY: i64 = 86_400_000;

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/put");
    acceptance(&mut table, now);
    diagnosis(&mut table, now);
    policy(&mut table, now);
    versions(&mut table, now);
    clamping(&mut table, now);
    seqs(&mut table, now);
    retention(&mut table, now);
    ownership(&mut table, now);
    table
}

/// Validation, field by field.
fn acceptance(table: &mut Table, now: i64) {
    let least = || record("r", now - 1000);
    table.case("record is required").refused("record", json!({}));
    table.refuses("record", &[json!(null), json!(7), json!(WRONG), json!([])], put);
    let required = "id channelId userId threadKey startedAt finishedAt status eventCount storedEventCount truncated events diagnosis";
    for field in required.split(' ') {
        let named = format!("record.{field}");
        table.case(format!("{named} is required")).refused(&named, put(without(least(), field)));
    }
    let text = [json!(null), json!(7), json!([])];
    let number = [json!(null), json!("5"), json!(true)];
    let flag = [json!(null), json!(0), json!("true")];
    let count = [json!(null), json!(-1), json!(1.5), json!("2")];
    let status = [json!(null), json!(""), json!("running"), json!("Completed"), json!(WRONG)];
    let visibility = [json!(null), json!(""), json!("Public"), json!(7), json!(WRONG)];
    let events = [json!(null), json!({}), json!(WRONG)];
    let ids = wrong_ids();
    let rules: [(&str, &[Value]); 9] = [
        ("id", &ids),
        ("channelId userId threadKey label agent model repo activity sourceUrl userName", &text),
        ("startedAt finishedAt eventCount storedEventCount receivedAt sealedAt", &number),
        ("truncated replyOk", &flag),
        ("stepCount schema", &count),
        ("status", &status),
        ("channelVisibility", &visibility),
        ("events", &events),
        ("diagnosis", &text),
    ];
    for (fields, values) in rules {
        for field in fields.split(' ') {
            let body = |value: Value| put(with(least(), json!({ field: value })));
            table.refuses(&format!("record.{field}"), values, body);
        }
    }
    let events =
        [json!(null), json!(WRONG), json!([]), json!({}), json!({ "type": 7 }), json!({ "text": WRONG })];
    table.refuses("record.events[1]", &events, |event| {
        put(with(least(), json!({ "events": [{ "type": "a" }, event] })))
    });
    for status in ["completed", "stopped_soft", "stopped_hard", "failed", "interrupted"] {
        table
            .case(format!("status of {status} is accepted"))
            .ok(put(with(least(), json!({ "status": status }))));
    }
    table
        .case("counts are not compared with events, nor times with each other")
        .ok(put(with(
            least(),
            json!({ "eventCount": 7, "storedEventCount": 3, "truncated": false, "startedAt": now }),
        )))
        .then("/runs/summary", json!({ "id": "r" }));
    table
        .case("number beyond a double is invalid")
        .refused_text("body", r#"{"storeKey":"$KEY","record":{"id":1e400}}"#);
    let text = put(with(least(), json!({ "label": "LABEL" }))).to_string();
    let text = text.replace("LABEL", r"a\ud83d b\ud83d\ude00").replacen('{', r#"{"storeKey":"$KEY","#, 1);
    table
        .case("lone surrogate is read as the replacement character, a pair as its character")
        .ok_text(text)
        .then("/runs/get", json!({ "id": "r" }));
}

/// Normalization of the diagnosis.
fn diagnosis(table: &mut Table, now: i64) {
    let sound = || json!({ "findings": [], "eventCount": 0, "verdict": "v", "byCategory": {} });
    let body = |diagnosis: Value| put(with(record("r", now - 1000), json!({ "diagnosis": diagnosis })));
    for field in ["findings", "eventCount", "verdict", "byCategory"] {
        let named = format!("record.diagnosis.{field}");
        table.case(format!("{named} is required")).refused(&named, body(without(sound(), field)));
    }
    let total = |total: Value| json!({ "retry": { "count": 1, "durationMs": 1 }, "later": total });
    let shape = json!({ "windowMs": 1, "gettingReadyMs": 0, "thinkingMs": 0, "toolsMs": 0, "finishingUpMs": 0,
        "overheadMs": 1, "notRecordedMs": 0, "notLoadedMs": 0 });
    let rules: [(&str, Vec<Value>); 6] = [
        ("findings", vec![json!(null), json!({})]),
        ("eventCount", vec![json!(null), json!("0")]),
        ("verdict", vec![json!(null), json!(7)]),
        ("runMs", vec![json!(null), json!("5")]),
        (
            "byCategory",
            vec![
                json!(null),
                json!([]),
                total(json!(null)),
                total(json!({})),
                total(json!({ "count": 1 })),
                total(json!({ "count": "1", "durationMs": 1 })),
            ],
        ),
        (
            "shape",
            vec![
                json!(null),
                json!({}),
                without(shape.clone(), "notLoadedMs"),
                with(shape, json!({ "toolsMs": null })),
            ],
        ),
    ];
    for (field, values) in rules {
        let with_field = |value: Value| body(with(sound(), json!({ field: value })));
        table.refuses(&format!("record.diagnosis.{field}"), &values, with_field);
    }
    table
        .case("findings, tool calls and timings are not validated, and any category name is accepted")
        .ok(body(json!({ "findings": [7, null], "eventCount": 0.5, "verdict": "", "toolCalls": "x",
            "hasTimings": null, "byCategory": { "of a later age": { "count": 1.5, "durationMs": -1, "more": 1 } } })))
        .then("/runs/get", json!({ "id": "r" }));
}

/// Fields of the policy.
fn policy(table: &mut Table, now: i64) {
    let with_policy = |policy: Value| json!({ "record": record("r", now - 1000), "policy": policy, "policyUpdatedAt": now - 100 });
    let none = [json!(null), json!(7), json!([]), json!(WRONG)];
    table.refuses("policy", &none, with_policy);
    for field in ["retentionDays", "maxRuns", "maxBytes"] {
        let wrong = [json!(null), json!(0), json!(-1), json!(1.5), json!("5")];
        table.refuses(&format!("policy.{field}"), &wrong, |value| with_policy(json!({ field: value })));
    }
    let stamped = |stamp: Value| with(with_policy(json!({})), json!({ "policyUpdatedAt": stamp }));
    table.refuses("policyUpdatedAt", &[json!(null), json!(-1), json!("5"), json!([])], stamped);
    table
        .case("policy requires a stamp")
        .refused("policyUpdatedAt", without(with_policy(json!({})), "policyUpdatedAt"));
    table
        .case("stamp without a policy is ignored, even if invalid")
        .ok(with(put(record("r", now - 1000)), json!({ "policyUpdatedAt": "soon" })));
    table
        .case("fields of a policy are optional, unknown ones are ignored")
        .ok(with_policy(json!({ "other": "x" })));
    table.case("integer may be written with a point").ok_text(format!(
        r#"{{"storeKey":"$KEY","record":{},"policy":{{"maxRuns":2.0}},"policyUpdatedAt":5e2}}"#,
        record("r", now - 1000)
    ));
    table
        .case("rejected policy stores no record")
        .refused("policy.maxRuns", with_policy(json!({ "maxRuns": 0 })))
        .then("/runs/get", json!({ "id": "r" }));
}

/// Repeated puts of the same and of other versions.
fn versions(table: &mut Table, now: i64) {
    let of = |types: &[&str]| {
        let events: Vec<_> = types.iter().map(|kind| json!({ "type": kind })).collect();
        put(record_of("r", now - 1000, &events))
    };
    table.case("first record of a run is stored and replaces none").ok(of(&["a"]));
    table.case("repetition rewrites nothing").given("/runs/put", of(&["a"])).ok(of(&["a"]));
    table
        .case("another event count replaces all events")
        .given("/runs/put", of(&["a", "b"]))
        .ok(of(&["c"]))
        .then("/runs/events", json!({ "id": "r" }));
    table
        .case("another finish replaces the events")
        .given("/runs/put", of(&["a"]))
        .ok(put(record_of("r", now - 999, &[json!({ "type": "z" })])))
        .then("/runs/events", json!({ "id": "r" }));
    table
        .case("another size replaces the events")
        .given("/runs/put", of(&["a"]))
        .ok(of(&["longer"]))
        .then("/runs/events", json!({ "id": "r" }));
    table
        .case(
            "equal count, finish and size are the same version: the events are left alone, the rest is taken",
        )
        .given(
            "/runs/put",
            put(with(record_of("r", now - 1000, &[json!({ "type": "a" })]), json!({ "label": "x" }))),
        )
        .ok(put(with(record_of("r", now - 1000, &[json!({ "type": "b" })]), json!({ "label": "y" }))))
        .then("/runs/get", json!({ "id": "r" }));
    table
        .case("final record replaces the tombstone")
        .given(
            "/runs/put",
            put(with(record("r", now - 2000), json!({ "status": "interrupted", "repo": "o/n" }))),
        )
        .ok(of(&["a", "b"]))
        .then("/runs/get", json!({ "id": "r" }));
    table
        .case("retained counts the runs of the store")
        .given_each("/runs/put", ["a", "b"].map(|id| put(record(id, now - 1000))))
        .ok(put(record("c", now - 1000)));
    table
        .case("stores are separate")
        .given("/runs/put", with(put(record("a", now - 1000)), json!({ "storeKey": "runs:another" })))
        .ok(put(record("b", now - 1000)));
}

/// Finish times in the future.
fn clamping(table: &mut Table, now: i64) {
    let year = 365 * DAY;
    table
        .case("times beyond a day ahead of the store's clock are clamped")
        .ok(put(with(
            record("r", now - 1000),
            json!({ "finishedAt": now + year, "receivedAt": now + year, "sealedAt": now + 2 * DAY, "startedAt": now + year }),
        )))
        .then("/runs/get", json!({ "id": "r" }))
        .then("/runs/summary", json!({ "id": "r" }))
        .then("/runs/list", json!({}));
    table
        .case("times within a day ahead stay")
        .ok(put(with(
            record("r", now - 1000),
            json!({ "finishedAt": now + DAY - 3_600_000, "receivedAt": now + 3_600_000, "sealedAt": now + 7_200_000 }),
        )))
        .then("/runs/summary", json!({ "id": "r" }));
}

/// Seqs of events.
fn seqs(table: &mut Table, now: i64) {
    let event =
        |seq: Value| if seq.is_null() { json!({ "type": "a" }) } else { json!({ "seq": seq, "type": "a" }) };
    let cases = [
        ("seqs that rise are the keys", vec![json!(2), json!(5), json!(7)]),
        ("a seq may be written with a point", vec![json!(1.0), json!(4.0)]),
        ("equal seqs become positions", vec![json!(3), json!(3)]),
        ("seqs that fall become positions", vec![json!(2), json!(1)]),
        ("one seq that is missing makes all positions", vec![json!(5), json!(null), json!(9)]),
        ("a seq of 0 makes all positions", vec![json!(0), json!(5)]),
        ("a negative seq makes all positions", vec![json!(-1), json!(5)]),
        ("a seq with a fraction makes all positions", vec![json!(1.5), json!(5)]),
        ("a seq that is text makes all positions", vec![json!("1"), json!(5)]),
        ("the greatest seq is 2^53 - 1", vec![json!(1), json!(9_007_199_254_740_991_i64)]),
        ("a seq beyond makes all positions", vec![json!(1), json!(9_007_199_254_740_993_i64)]),
    ];
    for (name, seqs) in cases {
        let events: Vec<_> = seqs.into_iter().map(event).collect();
        table
            .case(name)
            .ok(put(record_of("r", now - 1000, &events)))
            .then("/runs/events", json!({ "id": "r" }))
            .then("/runs/events", json!({ "id": "r", "afterSeq": 1 }));
    }
}

/// Hidden and deleted runs.
fn retention(table: &mut Table, now: i64) {
    let proposing = |record: Value, policy: Value| json!({ "record": record, "policy": policy, "policyUpdatedAt": now - 100 });
    table
        .case("run older than thirty days is not stored and hides nothing")
        .given("/runs/put", put(record("young", now - 1000)))
        .ok(put(record("old", now - 31 * DAY)))
        .then("/runs/get", json!({ "id": "old" }))
        .then("/runs/events", json!({ "id": "old" }))
        .then("/runs/list", json!({}));
    table
        .case("run of nearly thirty days is stored")
        .ok(put(record("old", now - 30 * DAY + 3_600_000)))
        .then("/runs/summary", json!({ "id": "old" }));
    table
        .case("run rewritten with an old time is deleted")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(put(record("r", now - 31 * DAY)))
        .then("/runs/get", json!({ "id": "r" }));
    table
        .case("newest runs up to the maximum count are kept, by finish and then by id")
        .given_each(
            "/runs/put",
            [("a", 3000), ("c", 2000), ("b", 2000)].map(|(id, ago)| put(record(id, now - ago))),
        )
        .ok(proposing(record("d", now - 1000), json!({ "maxRuns": 2 })))
        .then("/runs/list", json!({}));
    table
        .case("run older than the maximum count is not stored")
        .given("/runs/put", proposing(record("new", now - 1000), json!({ "maxRuns": 1 })))
        .ok(put(record("older", now - 2000)))
        .then("/runs/get", json!({ "id": "older" }))
        .then("/runs/list", json!({}));
    let large = |id: &str, ago: i64| {
        let events: Vec<_> = (0..30).map(|_| json!({ "type": "text", "text": "x".repeat(60_000) })).collect();
        record_of(id, now - ago, &events)
    };
    table
        .case("the first run beyond the byte limit and all older ones are hidden, small ones too")
        .given("/runs/put", proposing(record("small-and-old", now - 90_000), json!({ "maxBytes": 1 })))
        .given_each("/runs/put", (1..10).map(|n| put(large(&format!("large-{n}"), 50_000 - n * 1000))))
        .ok(put(large("newest", 1000)))
        .then("/runs/list", json!({}));
    table
        .case("limits are clamped")
        .given(
            "/runs/put",
            proposing(
                record("a", now - 400 * DAY),
                json!({ "retentionDays": 9999, "maxRuns": 9e15, "maxBytes": 1 }),
            ),
        )
        .ok(put(record("b", now - 364 * DAY)))
        .then("/runs/list", json!({}));
}

/// Precedence of policies.
fn ownership(table: &mut Table, now: i64) {
    let year = 365 * DAY;
    let proposing = |id: &str, max_runs: u32, stamp: i64| json!({ "record": record(id, now - 1000), "policy": { "maxRuns": max_runs }, "policyUpdatedAt": stamp });
    let three = |table: &mut Table, name: &str, first: i64, second: i64| {
        table
            .case(name)
            .given("/runs/put", put(record("a", now - 1000)))
            .given("/runs/put", proposing("b", 2, first))
            .ok(proposing("c", 1, second))
            .then("/runs/put", put(record("d", now - 1000)));
    };
    three(table, "later policy wins", now - 200, now - 100);
    three(table, "a policy decided earlier is ignored", now - 100, now - 200);
    three(table, "a policy decided at the same time is ignored", now - 100, now - 100);
    three(
        table,
        "a stamp a year ahead counts as now, and an earlier honest one is ignored",
        now + year,
        now - 100,
    );
    table
        .case("policy with stamp 0 is never later than the first")
        .given("/runs/put", put(record("a", now - 1000)))
        .ok(proposing("b", 1, 0));
    table
        .case("later policy replaces the earlier one, absent fields become defaults")
        .given("/runs/put", proposing("a", 1, now - 200))
        .ok(json!({ "record": record("b", now - 1000), "policy": { "retentionDays": 5 }, "policyUpdatedAt": now - 100 }))
        .then("/runs/put", put(record("c", now - 1000)));
    table
        .case("policy of a record that was not stored is in force")
        .given("/runs/put", put(record("a", now - 1000)))
        .ok(json!({ "record": record("old", now - 2 * DAY), "policy": { "retentionDays": 1, "maxRuns": 1 },
            "policyUpdatedAt": now - 100 }))
        .then("/runs/put", put(record("b", now - 1000)));
}
