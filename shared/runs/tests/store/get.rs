//! `/runs/get`.

use serde_json::{Value, json};

use crate::support::{NOW, events, record, store, with};

#[test]
fn get_fills_visibility_and_categories() {
    let store = store();
    let sent = record("r1", NOW);
    store.put(sent.clone());
    let zero = json!({ "count": 0, "durationMs": 0 });
    let mut expected = with(sent, json!({ "channelVisibility": "unknown" }));
    expected["diagnosis"]["byCategory"] = json!({
        "slow_tool": zero, "slow_model_turn": zero, "failed_tool": zero, "retry": zero, "setup_install": zero,
        "wrap_up": zero, "budget_hit": zero, "infra_failure": zero,
    });
    assert_eq!(store.get("r1"), expected);
}

#[test]
fn answer_is_exact() {
    let store = store();
    store.put(with(
        record("r1", 1_699_999_999_999),
        json!({ "channelVisibility": "dm" }),
    ));
    let total = r#"{"count":0,"durationMs":0}"#;
    let expected = [
        r#"{"record":{"id":"r1","channelId":"C1","userId":"U1","threadKey":"t:C1:1","startedAt":1699999999989,"#,
        r#""finishedAt":1699999999999,"status":"completed","eventCount":1,"storedEventCount":1,"truncated":false,"#,
        r#""diagnosis":{"findings":[],"eventCount":1,"verdict":"fine","byCategory":{"slow_tool":TOTAL,"#,
        r#""slow_model_turn":TOTAL,"failed_tool":TOTAL,"retry":TOTAL,"setup_install":TOTAL,"wrap_up":TOTAL,"budget_hit":TOTAL,"#,
        r#""infra_failure":TOTAL}},"channelVisibility":"dm","events":[{"type":"input","text":"hello","seq":1}]}}"#,
    ];
    assert_eq!(
        store.0.get(r#"{"id":"r1"}"#, NOW).unwrap(),
        expected.concat().replace("TOTAL", total)
    );
}

#[test]
fn an_unknown_run_is_null() {
    let store = store();
    assert_eq!(
        store
            .0
            .get(r#"{"storeKey":"runs:default","id":"no"}"#, NOW)
            .unwrap(),
        r#"{"record":null}"#
    );
}

#[test]
fn stored_diagnosis_matches_the_pure_rule() {
    for by_category in [
        json!({}),
        json!({ "retry": { "count": 2, "durationMs": 1.5 } }),
        json!({ "retry": { "count": 2, "durationMs": 0, "extra": [1] }, "of a later age": { "count": 1, "durationMs": 1 } }),
        json!({ "slow_tool": { "durationMs": 10_000_000_000_i64, "count": 1 }, "infra_failure": { "count": 1, "durationMs": -3 } }),
    ] {
        let store = store();
        let mut diagnosis = json!({
            "findings": [{ "category": "of a later age" }], "eventCount": 3, "verdict": "v", "byCategory": by_category,
            "truncatedInput": true, "toolCalls": "unchecked", "runMs": 5.5,
        });
        store.put(with(record("r", NOW), json!({ "diagnosis": diagnosis })));
        ars_runs::diagnosis::normalise(&mut diagnosis);
        assert_eq!(store.get("r")["diagnosis"], diagnosis);
        assert_eq!(store.list(json!({}))["items"][0]["diagnosis"], diagnosis);
    }
}

#[test]
fn a_corrupt_event_is_skipped() {
    let store = store();
    store.put(with(record("r", NOW), json!({ "events": events(1..=6) })));
    for (seq, broken) in [("2", "{"), ("3", "[]"), ("4", "{\"type\":7}"), ("5", "")] {
        store.execute(
            "UPDATE run_events SET event = ?1 WHERE seq = CAST(?2 AS INTEGER)",
            &[broken, seq],
        );
    }
    assert_eq!(store.get("r")["events"], events([1, 6]));
}

#[test]
fn corrupt_record_is_skipped() {
    let store = store();
    store.put(record("bad", NOW));
    store.put(record("good", NOW - 1));
    store.execute("UPDATE runs SET record = '{\"id\":' WHERE id = 'bad'", &[]);
    assert_eq!(store.get("bad"), Value::Null);
    assert_eq!(store.listed(json!({})), ["good"]);
}
