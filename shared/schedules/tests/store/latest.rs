//! Tests `/schedules/latest`.

use serde_json::{Value, json};

use ars_store::{Refusal, StoreFailure};
use ars_wire::{schedules::LatestResponse, state::ScheduleVerb};

use crate::support::{Store, firing, store, with};

fn told(store: &Store, schedule: &str, at: f64, detail: &str) {
    store.record(&with(&firing(schedule, at), &json!({ "detail": detail })));
}

#[test]
fn an_empty_store_has_no_firings() {
    assert_eq!(store().latest(), r#"{"firings":[]}"#);
}

#[test]
fn newest_firings_are_sorted_by_name() {
    let store = store();
    told(&store, "b", 1.0, "b1");
    told(&store, "a", 3.0, "a3");
    told(&store, "c", -1.5, "c-1.5");
    told(&store, "b", 2.0, "b2");
    told(&store, "é", 1.0, "é1");
    told(&store, "B", 9.0, "B9");
    assert_eq!(store.details(), ["B9", "a3", "b2", "c-1.5", "é1"]);
}

#[test]
fn later_write_wins_among_equal_times() {
    let store = store();
    told(&store, "a", 5.0, "first");
    told(&store, "a", 5.0, "second");
    assert_eq!(store.details(), ["second"]);
    told(&store, "a", 4.999, "late");
    assert_eq!(store.details(), ["second"]);
    assert_eq!(store.count(), 3);
    told(&store, "a", 5.0, "third");
    assert_eq!(store.details(), ["third"]);
}

#[test]
fn a_firing_is_answered_as_it_was_given() {
    let store = store();
    let given = r#"{"outcome":"failed","firedAt":1700000000000.5,"detail":"ünd \"so\" \u0001","schedule":"a","runId":"r 1"}"#;
    store
        .ask(
            ScheduleVerb::Record,
            &format!(r#" {{ "firing": {given} }} "#),
        )
        .unwrap();
    assert_eq!(store.latest(), format!(r#"{{"firings":[{given}]}}"#));
    let read: LatestResponse = serde_json::from_str(&store.latest()).unwrap();
    assert_eq!(
        (read.firings[0].fired_at, read.firings[0].run_id.as_deref()),
        (1_700_000_000_001, Some("r 1"))
    );
}

#[test]
fn half_a_surrogate_pair_is_replaced() {
    let store = store();
    let body =
        r#"{"firing":{"schedule":"a","firedAt":1,"outcome":"no-run","detail":"cut \ud83d"}}"#;
    store.ask(ScheduleVerb::Record, body).unwrap();
    assert_eq!(store.details(), ["cut \u{FFFD}"]);
}

#[test]
fn any_json_body_is_accepted() {
    let store = store();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for body in [
        "{}",
        "[]",
        "null",
        "5",
        r#""x""#,
        r#"{"schedule":"a"}"#,
        r#""\ud83d""#,
        &deep,
    ] {
        assert_eq!(
            store.ask(ScheduleVerb::Latest, body).unwrap(),
            json!({ "firings": [] })
        );
    }
    for body in ["", "{", "x", "{} {}"] {
        match store.ask(ScheduleVerb::Latest, body) {
            Err(StoreFailure::Refusal(Refusal::Field(message))) => {
                assert!(message.starts_with("body "));
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn unreadable_row_is_skipped() {
    let store = store();
    told(&store, "a", 1.0, "readable");
    told(&store, "a", 2.0, "broken");
    told(&store, "b", 1.0, "broken");
    told(&store, "c", 1.0, "whole");
    store.execute(
        "UPDATE firings SET firing = substr(firing, 1, 20) WHERE firing LIKE ?",
        &["%broken%"],
    );
    assert_eq!(store.details(), ["readable", "whole"]);
}

#[test]
fn many_schedules_are_all_returned() {
    let store = store();
    let detail = "\u{1F600}".repeat(300);
    for nth in 0..1_500 {
        told(
            &store,
            &format!("{nth:04}{}", "\u{1F600}".repeat(100)),
            1.0,
            &detail,
        );
    }
    store.execute(
        "UPDATE firings SET firing = '' WHERE schedule LIKE ?",
        &["0007%"],
    );
    let latest: Value = serde_json::from_str(&store.latest()).unwrap();
    let firings = latest["firings"].as_array().unwrap();
    assert!(store.latest().len() > 2_200_000);
    assert_eq!(firings.len(), 1_499);
    let name = |firing: &Value| firing["schedule"].as_str().unwrap().to_owned();
    assert!(firings.is_sorted_by_key(name));
}
