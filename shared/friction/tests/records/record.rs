//! Tests `/friction/record`.

use serde_json::json;

use ars_wire::state::FrictionVerb::Record;

use crate::support::{LEDGER, record, store, with};

#[test]
fn later_record_replaces_the_earlier() {
    let store = store();
    assert_eq!(store.record(&record("a", 1.0)), 1);
    assert_eq!(store.record(&record("b", 2.0)), 2);
    assert_eq!(
        store.record(&with(&record("a", 3.0), &json!({ "label": "again" }))),
        2
    );
    let recent = store.recent(&json!({}));
    assert_eq!(recent["records"][1]["label"], "again");
    assert_eq!(store.runs(&json!({})), ["b", "a"]);
}

#[test]
fn ledgers_are_isolated() {
    let store = store();
    assert_eq!(store.record_in("friction:acme/app", &record("a", 1.0)), 1);
    assert_eq!(store.record_in("friction:acme/tool", &record("a", 2.0)), 1);
    assert_eq!(store.record(&record("b", 3.0)), 1);
    assert_eq!(store.runs(&json!({})), ["b"]);
    assert_eq!(
        store.runs(&json!({ "ledgerKey": "friction:acme/app" })),
        ["a"]
    );
}

#[test]
fn record_with_every_field_is_accepted() {
    let store = store();
    for change in [
        json!({ "runId": "é".repeat(200) }),
        json!({ "runId": " any text\n\u{0}" }),
        json!({ "finishedAt": -1.5 }),
        json!({ "label": "", "agent": "" }),
        json!({ "later": { "rides": ["along", null] } }),
        json!({ "diagnosis": {
            "findings": [null, 1], "eventCount": -0.5, "verdict": "", "runMs": 0,
            "byCategory": { "of a later age": { "count": "many" }, "retry": {} }, "shape": null,
        } }),
    ] {
        store.record(&with(&record("a", 1.0), &change));
    }
    assert_eq!(store.count(), 3);
}

#[test]
fn record_over_65536_characters_is_rejected() {
    let store = store();
    let bare = with(&record("a", 1.0), &json!({ "label": "" }))
        .to_string()
        .chars()
        .count();
    for (character, written) in [("x", 1), ("é", 1), ("\u{1F600}", 1), ("\"", 2)] {
        let of = |characters: usize| {
            let left = characters - bare;
            let label = character.repeat(left / written) + &"x".repeat(left % written);
            with(&record("a", 1.0), &json!({ "label": label }))
        };
        assert_eq!(of(65_536).to_string().chars().count(), 65_536);
        assert_eq!(store.record(&of(65_536)), 1, "{character}");
        let refusal = store.refused(
            Record,
            &json!({ "ledgerKey": LEDGER, "record": of(65_537) }),
        );
        assert!(refusal.starts_with("record "), "{refusal}");
    }
}

#[test]
fn ledger_keeps_the_newest_500() {
    let store = store();
    store.record_in("friction:other", &record("a", 0.0));
    for nth in 0..500 {
        assert_eq!(store.record(&record(&format!("r{nth:03}"), 10.0)), nth + 1);
    }
    assert_eq!(store.record(&record("r499", 10.0)), 500);
    // When times are equal, the run with the smaller id is older.
    assert_eq!(store.record(&record("r500", 10.0)), 500);
    assert_eq!(store.runs(&json!({}))[0], "r001");
    // A late record is older than all that are stored.
    assert_eq!(store.record(&record("z", 9.999)), 500);
    assert_eq!(store.record(&record("r000", 10.0)), 500);
    assert_eq!(store.runs(&json!({}))[0], "r001");
    assert_eq!(store.count(), 501);
}
