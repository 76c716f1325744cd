//! `/runs/get`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table,
    records::{put, record, record_of, with},
};

use super::wrong_ids;

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/get");
    table.case("id is required").refused("id", json!({}));
    table.refuses("id", &wrong_ids(), |id| json!({ "id": id }));
    table.case("unknown run is null without an error").ok(json!({ "id": "nobody" }));
    table.case("id of 64 characters of every kind").ok(json!({ "id": format!("{}_-", "Az9".repeat(20)) }));
    table
        .case("store key may have 200 multi-byte characters")
        .ok(json!({ "storeKey": "é".repeat(200), "id": "a" }));
    table.case("keys are opaque").ok(json!({ "storeKey": "../'x'\";--%00\u{fffd}\u{1f600}", "id": "a" }));
    table
        .case("last duplicate store key wins")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok_text(r#"{"storeKey":"elsewhere","storeKey":"$KEY","id":"r"}"#);
    table
        .case("another store's run is unknown")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(json!({ "storeKey": "runs:another", "id": "r" }));
    table
        .case("minimal record is returned with a visibility and every category")
        .given("/runs/put", put(record("r", now - 1000)))
        .ok(json!({ "id": "r" }))
        .whole();
    whole(&mut table, now);
    categories(&mut table, now);
    lifetime(&mut table, now);
    table
}

fn whole(table: &mut Table, now: i64) {
    let every_field = with(
        record_of(
            "r",
            now - 1000,
            &[
                json!({ "seq": 3, "type": "text", "text": "line\none \"é\" \u{1f600} \u{0}" }),
                json!({ "seq": 5, "type": "of a later age", "deep": { "a": [1, 2.5, null, true] } }),
            ],
        ),
        json!({
            "label": "l", "agent": "coding", "model": "vendor/model", "repo": "acme/app", "channelVisibility": "dm",
            "receivedAt": now - 4000, "sealedAt": now - 500, "replyOk": false, "stepCount": 3, "schema": 2,
            "activity": "a", "sourceUrl": "s", "userName": "n", "eventCount": 5, "truncated": true,
            "ofALaterVersion": { "kept": [true, null] },
        }),
    );
    table
        .case("every field is returned unchanged, unknown ones too")
        .given("/runs/put", put(every_field))
        .ok(json!({ "id": "r" }))
        .whole();
    table
        .case("texts and numbers may be empty, negative and fractional")
        .given(
            "/runs/put",
            put(with(
                record("r", now - 1000),
                json!({ "channelId": "", "userId": "", "threadKey": "", "label": "", "startedAt": -0.5,
                    "eventCount": -1, "storedEventCount": 1.5 }),
            )),
        )
        .ok(json!({ "id": "r" }));
    table
        .case("time may have a fraction")
        .given("/runs/put", put(with(record("r", now - 1000), json!({ "finishedAt": now as f64 - 1000.5 }))))
        .ok(json!({ "id": "r" }));
    table
        .case("events without seqs are numbered from 1")
        .given(
            "/runs/put",
            put(record_of("r", now - 1000, &[json!({ "type": "a" }), json!({ "type": "b" })])),
        )
        .ok(json!({ "id": "r" }));
    let text = "é\"\n".repeat(12 * 1024);
    let large: Vec<Value> = (1..=24).map(|seq| json!({ "seq": seq, "type": "text", "text": text })).collect();
    table
        .case("record of the maximum size is returned complete")
        .given("/runs/put", put(record_of("r", now - 1000, &large)))
        .ok(json!({ "id": "r" }));
}

fn categories(table: &mut Table, now: i64) {
    let stored = json!({
        "findings": [{ "category": "retry", "severity": "low", "summary": "s", "eventIndex": 0 }],
        "eventCount": 3, "verdict": "v", "toolCalls": 2, "hasTimings": true, "runMs": 5, "truncatedInput": true,
        "byCategory": {
            "infra_failure": { "count": 1, "durationMs": 2.5, "more": "gone" },
            "retry": { "count": 2, "durationMs": 0 },
            "of_an_earlier_age": { "count": 9, "durationMs": 9 },
        },
        "shape": { "windowMs": 1, "gettingReadyMs": 0, "thinkingMs": 0, "toolsMs": 0, "finishingUpMs": 0,
            "overheadMs": 1, "notRecordedMs": 0, "notLoadedMs": 0 },
    });
    table
        .case("exactly the eight categories of the diagnosis are returned, other fields unchanged")
        .given("/runs/put", put(with(record("r", now - 1000), json!({ "diagnosis": stored }))))
        .ok(json!({ "id": "r" }));
    for word in ["public", "private", "dm", "machine", "unknown"] {
        table
            .case(format!("visibility of {word} is returned"))
            .given("/runs/put", put(with(record("r", now - 1000), json!({ "channelVisibility": word }))))
            .ok(json!({ "id": "r" }));
    }
}

fn lifetime(table: &mut Table, now: i64) {
    let day = 86_400_000;
    let policy = |record: Value, policy: Value| json!({ "record": record, "policy": policy, "policyUpdatedAt": now - 100 });
    table
        .case("run beyond the policy's age is null")
        .given("/runs/put", put(record("r", now - 2 * day)))
        .given("/runs/put", policy(record("young", now - 1000), json!({ "retentionDays": 1 })))
        .ok(json!({ "id": "r" }));
    table
        .case("run beyond the maximum count is null")
        .given("/runs/put", put(record("r", now - 2000)))
        .given("/runs/put", policy(record("young", now - 1000), json!({ "maxRuns": 1 })))
        .ok(json!({ "id": "r" }))
        .then("/runs/get", json!({ "id": "young" }));
    table
        .case("policy of a read is ignored, valid or not")
        .given("/runs/put", put(record("r", now - 2 * day)))
        .ok(json!({ "id": "r", "policy": { "retentionDays": 1 }, "policyUpdatedAt": now }))
        .then("/runs/get", json!({ "id": "r", "policy": 7 }));
    table
        .case("live run is not a finished one")
        .given(
            "/runs/claim",
            json!({ "run": { "runId": "r", "threadKey": "t", "gen": "g1", "leaseMs": 3_600_000, "startedAt": 1,
                "meta": {}, "system": "", "tools": [] } }),
        )
        .ok(json!({ "id": "r" }));
}
