//! `/friction/record`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{with, without},
};

use super::{friction, recorded};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/friction/record");
    validation(&mut table, now);
    let sound = || friction("r", now - 1000);
    table
        .case("record is stored unchanged")
        .ok(recorded(with(
            sound(),
            json!({ "label": "l", "agent": "coding", "more": { "a": [1.5, null, "\u{1f600}\u{0}"] },
                "diagnosis": { "findings": [{ "category": "retry" }], "eventCount": 0.5, "verdict": "", "runMs": -1,
                    "byCategory": { "retry": { "count": 1 }, "of a later age": {} }, "toolCalls": 2 } }),
        )))
        .then("/friction/recent", json!({}));
    table.case("texts may be empty").ok(recorded(with(sound(), json!({ "label": "", "agent": "" }))));
    table.case("run id of 200 characters").ok(recorded(friction(&"é ".repeat(100), now - 1000)));
    table
        .case("last record of a run is stored")
        .given("/friction/record", recorded(friction("other", now - 2000)))
        .given("/friction/record", recorded(sound()))
        .ok(recorded(with(friction("r", now - 3000), json!({ "label": "again" }))))
        .then("/friction/recent", json!({}));
    table
        .case("retained counts the ledger's records")
        .given_each("/friction/record", (0..3).map(|n| recorded(friction(&format!("r{n}"), now - n))))
        .ok(recorded(friction("r3", now - 9)));
    table
        .case("ledgers are separate")
        .given("/friction/record", with(recorded(sound()), json!({ "ledgerKey": "friction:o/another" })))
        .ok(recorded(friction("r2", now - 1000)));
    table
        .case("newest five hundred are kept, by finish and then by name")
        .given_each(
            "/friction/record",
            (0..500).map(|n| recorded(friction(&format!("r{n:03}"), now - 10_000 + n / 2))),
        )
        .ok(recorded(friction("one-more", now - 1000)))
        .then("/friction/recent", json!({ "limit": 1000 }));
    table
        .case("record older than five hundred others is not kept")
        .given_each(
            "/friction/record",
            (0..500).map(|n| recorded(friction(&format!("r{n:03}"), now - 10_000 + n))),
        )
        .ok(recorded(friction("too-old", now - 20_000)))
        .then("/friction/recent", json!({ "limit": 1000, "sinceMs": 0 }));
    table
}

fn validation(table: &mut Table, now: i64) {
    let sound = || friction("r", now - 1000);
    table.case("record is required").refused("record", json!({}));
    table.refuses("record", &[json!(null), json!(7), json!(WRONG), json!([])], recorded);
    for field in ["runId", "finishedAt", "diagnosis"] {
        let named = format!("record.{field}");
        table.case(format!("{named} is required")).refused(&named, recorded(without(sound(), field)));
    }
    let text = || vec![json!(null), json!(7), json!([WRONG])];
    let rules: [(&str, Vec<Value>); 5] = [
        ("runId", vec![json!(null), json!(7), json!(""), json!("é".repeat(201))]),
        ("finishedAt", vec![json!(null), json!("5"), json!([])]),
        ("label", text()),
        ("agent", text()),
        ("diagnosis", vec![json!(null), json!(7), json!(WRONG), json!([])]),
    ];
    for (field, values) in rules {
        table.refuses(&format!("record.{field}"), &values, |value| {
            recorded(with(sound(), json!({ field: value })))
        });
    }
    let diagnosis = || json!({ "findings": [], "eventCount": 0, "verdict": "v", "byCategory": {} });
    let diagnosed = |diagnosis: Value| recorded(with(sound(), json!({ "diagnosis": diagnosis })));
    for field in ["findings", "eventCount", "verdict", "byCategory"] {
        let named = format!("record.diagnosis.{field}");
        table.case(format!("{named} is required")).refused(&named, diagnosed(without(diagnosis(), field)));
    }
    let rules: [(&str, Vec<Value>); 5] = [
        ("findings", vec![json!(null), json!({})]),
        ("eventCount", vec![json!(null), json!("0")]),
        ("verdict", vec![json!(null), json!(7)]),
        ("runMs", vec![json!(null), json!("5")]),
        (
            "byCategory",
            vec![json!(null), json!([]), json!({ "retry": 7 }), json!({ "retry": {}, "x": null })],
        ),
    ];
    for (field, values) in rules {
        let body = |value: Value| diagnosed(with(diagnosis(), json!({ field: value })));
        table.refuses(&format!("record.diagnosis.{field}"), &values, body);
    }
    let sized = |characters: usize| {
        let bare = with(sound(), json!({ "label": "" })).to_string().chars().count();
        recorded(with(sound(), json!({ "label": "é".repeat(characters - bare) })))
    };
    table.case("record of 65536 two-byte characters").ok(sized(65_536));
    table.case("record of 65537 characters is rejected").refused("record", sized(65_537));
    table
        .case("rejected record keeps the earlier one")
        .given("/friction/record", recorded(sound()))
        .refused("record.label", recorded(with(sound(), json!({ "label": 7 }))))
        .then("/friction/recent", json!({}));
}
