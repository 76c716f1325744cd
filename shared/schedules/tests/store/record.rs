//! Tests of `/schedules/record`.

use serde_json::{Value, json};

use crate::support::{firing, store, with};

#[test]
fn a_firing_is_kept_and_counted_by_schedule() {
    let store = store();
    assert_eq!(store.record(&firing("a", 1.0)), json!({ "ok": true, "retained": 1 }));
    assert_eq!(store.record(&firing("a", 2.0)), json!({ "ok": true, "retained": 2 }));
    assert_eq!(store.record(&firing("b", 1.0)), json!({ "ok": true, "retained": 1 }));
}

#[test]
fn every_outcome_and_the_widest_fields_are_accepted() {
    let store = store();
    for outcome in
        ["completed", "failed", "stopped_soft", "stopped_hard", "no-run", "ingress-error", "misconfigured"]
    {
        store.record(&with(&firing("a", 1.0), &json!({ "outcome": outcome })));
    }
    for change in [
        json!({ "schedule": "é".repeat(200) }),
        json!({ "schedule": " any text\n\u{0}" }),
        json!({ "firedAt": -1.5 }),
        json!({ "firedAt": 1e300 }),
        json!({ "runId": "" }),
        json!({ "runId": "é".repeat(200) }),
        json!({ "detail": "" }),
        json!({ "detail": "é".repeat(300) }),
    ] {
        assert_eq!(store.record(&with(&firing("a", 1.0), &change))["ok"], true, "{change}");
    }
}

#[test]
fn invalid_firing_is_rejected_by_field() {
    let store = store();
    for (change, named) in [
        (json!({ "schedule": "" }), "firing.schedule "),
        (json!({ "schedule": "é".repeat(201) }), "firing.schedule "),
        (json!({ "schedule": 5 }), "firing.schedule "),
        (json!({ "schedule": null }), "firing.schedule "),
        (json!({ "firedAt": "1" }), "firing.firedAt "),
        (json!({ "firedAt": null }), "firing.firedAt "),
        (json!({ "outcome": "interrupted" }), "firing.outcome "),
        (json!({ "outcome": "Completed" }), "firing.outcome "),
        (json!({ "outcome": ["completed"] }), "firing.outcome "),
        (json!({ "outcome": { "completed": null } }), "firing.outcome "),
        (json!({ "outcome": null }), "firing.outcome "),
        (json!({ "runId": null }), "firing.runId "),
        (json!({ "runId": 1 }), "firing.runId "),
        (json!({ "runId": "é".repeat(201) }), "firing.runId "),
        (json!({ "detail": null }), "firing.detail "),
        (json!({ "detail": "é".repeat(301) }), "firing.detail "),
        (json!({ "later": 1 }), "firing must have no fields but"),
    ] {
        let body = json!({ "firing": with(&firing("a", 1.0), &change) }).to_string();
        assert!(store.refused(&body).starts_with(named), "{change}: {}", store.refused(&body));
    }
    for missing in ["schedule", "firedAt", "outcome"] {
        let mut firing = firing("a", 1.0);
        firing.as_object_mut().unwrap().shift_remove(missing);
        let body = json!({ "firing": firing }).to_string();
        assert!(store.refused(&body).starts_with(&format!("firing.{missing} ")), "{missing}");
    }
    for (body, named) in [
        ("", "body "),
        ("[]", "body "),
        ("null", "body "),
        ("{", "body "),
        ("{}", "firing "),
        (r#"{"firing":null}"#, "firing "),
        (r#"{"firing":[]}"#, "firing "),
        (r#"{"firing":{"schedule":"a","firedAt":1e999,"outcome":"failed"}}"#, "body "),
    ] {
        assert!(store.refused(body).starts_with(named), "{body}: {}", store.refused(body));
    }
    assert_eq!(store.count(), 0);
}

#[test]
fn of_one_schedule_the_newest_hundred_are_kept() {
    let store = store();
    store.record(&firing("other", 0.0));
    for nth in 0..100 {
        assert_eq!(store.record(&firing("a", 10.0))["retained"], nth + 1);
    }
    assert_eq!(store.record(&firing("a", 10.0))["retained"], 100);
    assert_eq!(store.count(), 101);
}

#[test]
fn oldest_firing_is_deleted_beyond_the_limit() {
    let store = store();
    let kept = || {
        let rows =
            ars_sql::Sql::query(store.0.sql(), "SELECT firing FROM firings ORDER BY nth", &[]).unwrap();
        let detail = |row: &ars_sql::Row| {
            let firing: Value = serde_json::from_str(row.text(0).unwrap()).unwrap();
            firing["detail"].as_str().unwrap().to_owned()
        };
        rows.iter().map(detail).collect::<Vec<_>>()
    };
    let told = |at: f64, detail: &str| with(&firing("a", at), &json!({ "detail": detail }));
    for nth in 0..100 {
        store.record(&told(5.0, &nth.to_string()));
    }
    assert_eq!(store.record(&told(4.0, "late"))["retained"], 100);
    assert!(!kept().contains(&"late".to_owned()));
    assert_eq!(store.record(&told(5.0, "again"))["retained"], 100);
    assert_eq!(kept()[0], "1");
    assert_eq!(kept()[99], "again");
}
