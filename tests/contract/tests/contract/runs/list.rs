//! `/runs/list`. Its predicate is in `visible_to`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{put, record, record_of, with},
};

use super::{visible_to, wrong_ids};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/list");
    validation(&mut table);
    order(&mut table, now);
    cursors(&mut table, now);
    filters(&mut table, now);
    hidden(&mut table, now);
    visible_to::cases(&mut table, now);
    table
}

fn validation(table: &mut Table) {
    let limits = [json!(null), json!(0), json!(-1), json!(1.5), json!("5"), json!([])];
    table.refuses("limit", &limits, |limit| json!({ "limit": limit }));
    for field in ["before", "sinceMs"] {
        table.refuses(
            field,
            &[json!(null), json!("5"), json!(WRONG), json!({})],
            |value| json!({ field: value }),
        );
    }
    table.refuses("beforeId", &wrong_ids(), |id| json!({ "before": 1, "beforeId": id }));
    table.case("beforeId without before is validated too").refused("beforeId", json!({ "beforeId": WRONG }));
    for field in ["agent", "channel"] {
        let wrong = [json!(null), json!(7), json!([WRONG]), json!("é".repeat(201))];
        table.refuses(field, &wrong, |value| json!({ field: value }));
        let longest = "é".repeat(200);
        table.case(format!("{field} may have 200 characters")).ok(json!({ field: longest }));
    }
    table
        .case("number beyond a double is invalid")
        .refused_text("body", r#"{"storeKey":"$KEY","before":1e999}"#);
}

fn order(table: &mut Table, now: i64) {
    table.case("empty store lists none").ok(json!({}));
    table
        .case("newest finish first, ties by id bytes, descending")
        .given_each(
            "/runs/put",
            [
                ("a", 2000),
                ("B", 2000),
                ("_", 2000),
                ("-", 2000),
                ("9", 2000),
                ("late", 1000),
                ("early", 3000),
            ]
            .map(|(id, ago)| put(record(id, now - ago))),
        )
        .ok(json!({}));
    table
        .case("fractional times are sorted and in the cursor")
        .given_each(
            "/runs/put",
            [0.25, 0.75, 0.5].map(|part: f64| {
                let at = (now - 1000) as f64 + part;
                put(with(
                    record(&format!("r{}", part * 100.0), now),
                    json!({ "finishedAt": at, "startedAt": 0 }),
                ))
            }),
        )
        .ok(json!({ "limit": 2 }))
        .then("/runs/list", json!({ "before": (now - 1000) as f64 + 0.5, "beforeId": "r50" }));
    table
        .case("item has all fields but the events, and its size")
        .given(
            "/runs/put",
            put(with(
                record_of("r", now - 1000, &[json!({ "type": "text", "text": "é" })]),
                json!({ "label": "l", "agent": "a", "model": "m", "repo": "o/n", "channelVisibility": "private",
                    "receivedAt": now - 2000, "sealedAt": now - 500, "replyOk": true, "stepCount": 1, "schema": 2,
                    "bytes": 1, "later": { "kept": 1 } }),
            )),
        )
        .ok(json!({}))
        .whole();
}

fn cursors(table: &mut Table, now: i64) {
    let four =
        || [("a", 3000), ("b", 2000), ("c", 2000), ("d", 1000)].map(|(id, ago)| put(record(id, now - ago)));
    let mut asked = |name: &str, body: Value| {
        table.case(name).given_each("/runs/put", four()).ok(body);
    };
    asked("a page that is not full has no cursor", json!({ "limit": 5 }));
    asked("a full page has one, even when it is the last", json!({ "limit": 4 }));
    asked("a page after the last is empty", json!({ "limit": 4, "before": now - 3000, "beforeId": "a" }));
    asked("a page may end between equal times", json!({ "limit": 2 }));
    asked("and goes on between them", json!({ "limit": 2, "before": now - 2000, "beforeId": "c" }));
    asked("a time without an id skips its equals", json!({ "before": now - 2000 }));
    asked("an id without a time does nothing", json!({ "beforeId": "c" }));
    asked("a time between two runs is a cursor as well", json!({ "before": now - 1500, "beforeId": "zzz" }));
    asked("a time before all runs leaves none", json!({ "before": -1e300, "beforeId": "a" }));
    asked("a time after all runs leaves all", json!({ "before": 1e300, "limit": 1 }));
    let many = |count: i64| (0..count).map(move |n| put(record(&format!("r{n:03}"), now - 1000 - n)));
    table.case("default of fifty").given_each("/runs/put", many(51)).ok(json!({}));
    table
        .case("maximum of two hundred, larger limits are clamped")
        .given_each("/runs/put", many(201))
        .ok(json!({ "limit": 200 }))
        .then("/runs/list", json!({ "limit": 201 }))
        .then("/runs/list", json!({ "limit": 1e300 }))
        .then("/runs/list", json!({ "limit": 200, "before": now - 1199, "beforeId": "r199" }));
}

fn filters(table: &mut Table, now: i64) {
    let four = || {
        [
            ("a", "coding", "C1", 4000),
            ("b", "coding", "C2", 3000),
            ("c", "general", "C1", 2000),
            ("d", "", "C2", 1000),
        ]
        .map(|(id, agent, channel, ago)| {
            put(with(record(id, now - ago), json!({ "agent": agent, "channelId": channel })))
        })
    };
    let mut asked = |name: &str, body: Value| {
        table.case(name).given_each("/runs/put", four()).ok(body);
    };
    asked("of one agent", json!({ "agent": "coding" }));
    asked("an agent is named exactly", json!({ "agent": "codin" }));
    asked("an agent's letters count as they are", json!({ "agent": "Coding" }));
    asked("no agent is not an agent of empty name only when it has one", json!({ "agent": "" }));
    asked("of one channel", json!({ "channel": "C1" }));
    asked("since a time, that time included", json!({ "sinceMs": now - 2000 }));
    asked("since a time with a fraction", json!({ "sinceMs": (now - 2000) as f64 + 0.5 }));
    asked("since before the retention", json!({ "sinceMs": -1e300 }));
    asked("since the far future", json!({ "sinceMs": 1e300 }));
    asked(
        "all filters at once",
        json!({ "agent": "coding", "channel": "C2", "sinceMs": now - 3000, "before": now - 1000, "limit": 1,
            "visibleTo": { "kind": "user-is", "userId": "U1" } }),
    );
    asked("filters that contradict each other", json!({ "sinceMs": now - 2000, "before": now - 3000 }));
    asked("unknown fields are ignored", json!({ "agents": WRONG, "policy": 7, "limit": 1 }));
    asked("quotes and wildcards are themselves", json!({ "agent": "%' OR 1=1 --" }));
}

fn hidden(table: &mut Table, now: i64) {
    let day = 86_400_000;
    table
        .case("excluded runs are hidden at once")
        .given_each("/runs/put", [("a", 5 * day), ("b", 3 * day)].map(|(id, ago)| put(record(id, now - ago))))
        .given(
            "/runs/put",
            json!({ "record": record("c", now - 1000), "policy": { "retentionDays": 4 }, "policyUpdatedAt": now - 100 }),
        )
        .ok(json!({}));
    table
        .case("live run is listed only with its tombstone")
        .given(
            "/runs/claim",
            json!({ "run": { "runId": "r", "threadKey": "t", "gen": "g1", "leaseMs": 3_600_000, "startedAt": 1,
                "meta": {}, "system": "", "tools": [] } }),
        )
        .ok(json!({}))
        .then("/runs/put", put(with(record("r", now - 1000), json!({ "status": "interrupted" }))))
        .then("/runs/list", json!({}));
}
