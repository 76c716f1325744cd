//! Friction ledgers, schedule firings and configuration documents.

use serde_json::{Value, json};

use ars_tests_contract::records::with;

use crate::pair::{DAY, Pair};

fn friction(run: &str, finished_at: f64) -> Value {
    let diagnosis =
        json!({ "findings": [], "eventCount": 0.5, "verdict": "", "byCategory": { "later": {} } });
    json!({ "record": { "runId": run, "finishedAt": finished_at, "diagnosis": diagnosis } })
}

#[test]
fn friction_ledgers_are_equal() {
    let mut pair = Pair::start();
    let old = (pair.base - DAY) as f64;
    pair.store("friction:o/n");
    for (run, ago) in [
        ("b", 2000.0),
        ("a", 1000.0),
        ("d", 2000.0),
        ("c", 3000.5),
        ("b", 500.0),
    ] {
        pair.ok("/friction/record", friction(run, old - ago));
    }
    let mut large = friction(&"é ".repeat(100), old);
    large["record"]["label"] = json!("\u{1f600}\u{0}\"\n".repeat(5800));
    pair.ok("/friction/record", large);
    for body in [
        json!({}),
        json!({ "limit": 2 }),
        json!({ "limit": 2, "sinceMs": old - 2000.0 }),
        json!({ "sinceMs": old - 3000.5 }),
        json!({ "sinceMs": 1e300 }),
        json!({ "ledgerKey": "friction:o/another" }),
    ] {
        pair.ok("/friction/recent", body);
    }
    pair.ask("/friction/recent", 400, json!({ "limit": 1001 }));
    pair.ask("/friction/record", 400, friction("", old));
    pair.store("friction:full");
    for n in 0..501 {
        pair.ok(
            "/friction/record",
            friction(&format!("r{n:03}"), old + f64::from(n / 2)),
        );
    }
    let recent = pair.ok("/friction/recent", json!({ "limit": 1000 }));
    assert_eq!(recent["records"].as_array().unwrap().len(), 500);
    pair.finish();
}

#[test]
fn firings_are_equal() {
    let mut pair = Pair::start();
    let old = pair.base - DAY;
    let firing =
        |name: &str, at: f64| json!({ "schedule": name, "firedAt": at, "outcome": "no-run" });
    for body in ["{}", "[]", "null", "7", "\"text\""] {
        pair.ask_text("/schedules/latest", 200, body);
    }
    for (name, ago) in [
        ("b", 3.0),
        ("a b", 1.0),
        ("B", 2.0),
        ("\u{e9}", 5.5),
        ("b", 4.0),
        ("B", 2.0),
    ] {
        let firing = with(
            firing(name, old as f64 - ago),
            json!({ "runId": "r", "detail": "\u{1f600} \"\u{0}\n" }),
        );
        pair.ok("/schedules/record", json!({ "firing": firing }));
        pair.ok("/schedules/latest", json!({}));
    }
    for n in 0..101 {
        pair.ok(
            "/schedules/record",
            json!({ "firing": firing("busy", old as f64 + f64::from(n)) }),
        );
    }
    pair.ok("/schedules/latest", json!({}));
    pair.ask(
        "/schedules/record",
        400,
        json!({ "firing": { "schedule": "s" } }),
    );
    pair.finish();
}

#[test]
fn documents_are_equal() {
    let mut pair = Pair::start();
    let put =
        |version: u64, document: Value| json!({ "document": document, "expectedVersion": version });
    let sized =
        |bytes: usize| json!({ "a": "x".repeat(bytes - json!({ "a": "" }).to_string().len()) });
    pair.store(&"k".repeat(64));
    pair.ok("/config/get", json!({}));
    let document =
        json!({ "z": 1, "a": [null, 1.5, {}], "é": "\u{1f600} \"\u{0}\n", "deep": { "b": [] } });
    pair.ok("/config/put", put(0, document));
    pair.ask("/config/put", 409, put(0, json!({ "by": "another" })));
    pair.ask(
        "/config/put",
        409,
        put(u64::MAX, json!({ "by": "another" })),
    );
    pair.ask("/config/put", 413, put(1, sized(256 * 1024 + 1)));
    pair.ask("/config/put", 400, put(1, json!([])));
    pair.ok("/config/get", json!({}));
    pair.ok("/config/put", put(1, sized(256 * 1024)));
    pair.ok("/config/get", json!({}));
    pair.ask_text(
        "/config/put",
        200,
        r#"{"key":"mended","expectedVersion":0,"document":{"cut":"a\ud83d"}}"#,
    );
    pair.ok("/config/get", json!({ "key": "mended" }));
    pair.finish();
}
