//! Texts that SQLite, Rust and JavaScript could parse differently.

use ars_sql::Sql;
use serde_json::{Value, json};

use crate::support::{NOW, parse, record, store, with};

/// Puts a body with `token` replaced by raw JSON text, which `json!` cannot represent.
fn put_raw(id: &str, changes: Value, raw: &str) -> crate::support::Store {
    let store = store();
    let body = json!({ "record": with(record(id, NOW), changes) }).to_string();
    store.0.put(&body.replace("\"RAW\"", raw), NOW).unwrap();
    store
}

#[test]
fn any_text_round_trips() {
    for text in [
        "\0",
        "a\0b",
        "é🦀\u{2028}",
        "\u{1}\u{7f}\u{85}",
        "\"\\/\u{8}\n",
        "'; DROP TABLE runs; --",
        "\u{FFFD}\u{FEFF}",
    ] {
        let store = store();
        let sent = with(
            record("r", NOW),
            json!({ "label": text, "agent": text, "channelId": text, "later": { text: [text] },
                    "events": [{ "type": text, text: { "x": text }, "seq": 1 }] }),
        );
        store.put(sent.clone());
        let kept = store.get("r");
        for field in ["label", "later", "events"] {
            assert_eq!(kept[field], sent[field], "{text:?}");
        }
        assert_eq!(
            store.events(json!({ "id": "r" }))["events"],
            sent["events"],
            "{text:?}"
        );
        let by = |request: Value| store.listed(request);
        assert_eq!(
            by(json!({ "agent": text, "channel": text })),
            ["r"],
            "{text:?}"
        );
        assert_eq!(
            by(json!({ "visibleTo": { "kind": "channels-in", "channelIds": [text] } })),
            ["r"],
            "{text:?}"
        );
        // A text with the same prefix is another text.
        let longer = format!("{text}x");
        assert_eq!(
            by(json!({ "visibleTo": { "kind": "channels-in", "channelIds": [longer] } })),
            Vec::<String>::new()
        );
    }
}

#[test]
fn lone_surrogate_becomes_the_replacement_character() {
    let changes =
        json!({ "label": "RAW", "events": [{ "type": "input", "text": "RAW", "seq": 1 }] });
    let store = put_raw("r", changes, r#""cut \ud83d""#);
    assert_eq!(store.get("r")["label"], "cut \u{FFFD}");
    assert_eq!(store.get("r")["events"][0]["text"], "cut \u{FFFD}");
    let store = put_raw("r", json!({ "label": "RAW" }), r#""whole \ud83e\udd80""#);
    assert_eq!(store.get("r")["label"], "whole 🦀");
}

#[test]
fn last_duplicate_key_wins_everywhere() {
    let event = r#"{"type":1,"seq":9,"type":"b","seq":3,"x":{"y":1,"y":2}}"#;
    let store = put_raw("r", json!({ "events": ["RAW"] }), event);
    assert_eq!(
        store.get("r")["events"],
        json!([{ "type": "b", "seq": 3, "x": { "y": 2 } }])
    );
    let raw = store
        .0
        .sql()
        .query("SELECT seq, event FROM run_events", &[])
        .unwrap();
    assert_eq!(
        (raw[0].integer(0), raw[0].text(1)),
        (Ok(3), Ok(r#"{"type":"b","seq":3,"x":{"y":2}}"#))
    );
    let body = json!({ "record": record("r2", NOW) })
        .to_string()
        .replace("\"userId\"", "\"agent\":\"a\",\"agent\":\"b\",\"userId\"");
    store.0.put(&body, NOW).unwrap();
    assert_eq!(
        (
            store.get("r2")["agent"].clone(),
            store.listed(json!({ "agent": "a" }))
        ),
        (json!("b"), vec![])
    );
}

#[test]
fn numbers_keep_their_value() {
    for raw in [
        "0",
        "-0.0",
        "1e300",
        "-1.5e-7",
        "0.1",
        "9007199254740991",
        "18446744073709551615",
        "-9223372036854775808",
        "12345678901234567890123",
    ] {
        let expected: f64 = raw.parse().unwrap();
        let store = put_raw(
            "r",
            json!({ "later": "RAW", "events": [{ "type": "x", "n": "RAW", "seq": 1 }] }),
            raw,
        );
        for found in [
            store.get("r")["later"].clone(),
            store.get("r")["events"][0]["n"].clone(),
            store.list(json!({}))["items"][0]["later"].clone(),
        ] {
            assert_eq!(found.as_f64(), Some(expected), "{raw}");
        }
    }
}

#[test]
fn only_readable_nesting_is_accepted() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let store = put_raw("r", json!({ "later": "RAW" }), &nested(120));
    assert_eq!(store.get("r")["later"].to_string(), nested(120));
    let body = json!({ "record": with(record("r", NOW), json!({ "later": "RAW" })) }).to_string();
    for depth in [128, 1_000, 100_000] {
        let refused =
            crate::support::refusal(store.0.put(&body.replace("\"RAW\"", &nested(depth)), NOW));
        assert!(refused.to_string().starts_with("body "), "{refused}");
    }
}

#[test]
fn fractional_times_sort_and_paginate() {
    let store = store();
    for (id, at) in [("a", 0.25), ("b", 0.5), ("c", 0.75)] {
        store.put(with(
            record(id, NOW),
            json!({ "finishedAt": NOW as f64 - at }),
        ));
    }
    let first = store.list(json!({ "limit": 1 }));
    assert_eq!(
        first["nextBefore"],
        json!({ "finishedAt": NOW as f64 - 0.25, "id": "a" })
    );
    assert_eq!(
        store.listed(json!({ "before": first["nextBefore"]["finishedAt"], "beforeId": "a" })),
        ["b", "c"]
    );
    assert_eq!(
        parse(&store.0.get(r#"{"id":"b"}"#, NOW).unwrap())["record"]["finishedAt"],
        NOW as f64 - 0.5
    );
}
