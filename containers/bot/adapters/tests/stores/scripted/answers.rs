//! Failure classes, malformed answers, and conflicts, for every route.

use ars_bot_ports::{
    Documents, FlushBatch, FrictionRecords, Ledger, Memory, RunStore, Schedules, StoreError,
    StoreErrorKind, Transcripts,
};
use ars_types::{RunId, StopMode};
use ars_wire::{
    idempotency::IdempotencyKey,
    ledger::{LEASE_MS, StepRecord},
    runs::ListRequest,
    state::{MemoryVerb, Route},
};
use serde_json::{Map, json};

use super::{candidate, generation, ledger_key, new_run, owner, scene};
use crate::suite::{record, run};

/// Requests every route once with `answer`, except the infallible retrieval.
/// Returns the errors by path.
async fn ask_everything(status: u16, text: &str) -> Vec<(&'static str, Result<(), StoreError>)> {
    let id: &RunId = &run("r1");
    let (whole, owner, generation) = (record("r1", 5), owner(), generation());
    let key = ledger_key();
    let friction = json!({ "runId": "r1", "finishedAt": 5, "diagnosis": {} });
    let friction = serde_json::from_value(friction).unwrap();
    let firing = json!({ "schedule": "s", "firedAt": 5, "outcome": "no-run" });
    let firing = serde_json::from_value(firing).unwrap();
    let none = json!({});
    let news = [FlushBatch {
        run: id.clone(),
        events: Vec::new(),
        inbox_after: 0,
    }];
    // A claim is the request with the most attempts.
    let attempts = if matches!(status, 408 | 429 | 500..) {
        3
    } else {
        1
    };
    let mut outcomes = Vec::new();
    macro_rules! each {
        ($($call:expr),+ $(,)?) => {$({
            let (client, transport) = scene(&vec![(status, text); attempts]);
            let result = $call(&*client).await.map(drop);
            outcomes.push((transport.asked()[0], result));
        })+};
    }
    each!(
        |client| RunStore::put(client, &whole),
        |client| RunStore::get(client, id),
        |client| RunStore::summary(client, id),
        |client| RunStore::events(client, id, 0, 5),
        |client| RunStore::delete(client, id),
        Ledger::live,
        |client| Ledger::heartbeat(client, &owner, LEASE_MS),
        |client| Ledger::append(client, &owner, &[]),
        |client| Ledger::finishing(client, &owner),
        |client| Ledger::finish(client, &owner, &whole),
        |client| Ledger::stop(client, id, StopMode::Hard, None),
        |client| Ledger::handoff(client, &generation, &[]),
        |client| Ledger::reclaim(client, &generation, LEASE_MS, None, &[]),
        |client| Ledger::live_events(client, id, 0),
        |client| Ledger::flush(client, &generation, Some(LEASE_MS), &news),
        |client| Transcripts::set_owner(client, &owner),
        |client| Transcripts::write(client, &owner, &[], &[]),
        |client| Transcripts::read(client, id),
        |client| Transcripts::clear(client, &owner),
        |client| FrictionRecords::record(client, &key, &friction),
        |client| FrictionRecords::recent(client, &key, None, None),
        |client| Schedules::record(client, &firing),
        Schedules::latest,
        |client| Documents::newest(client, "overrides"),
        |client| Documents::replace(client, "overrides", &none, 0),
    );
    let (list, run, step, empty) = (
        ListRequest::default(),
        new_run(),
        StepRecord::default(),
        Map::new(),
    );
    let idempotency = IdempotencyKey {
        subject: "ann".into(),
        key: "k".into(),
        fingerprint: "0".repeat(64),
    };
    each!(
        |client| RunStore::list(client, &list),
        |client| Ledger::claim(client, &run),
        |client| Ledger::first_use(client, &idempotency),
        |client| Ledger::step(client, &owner, &step),
        |client| Ledger::state(client, &owner, &empty),
        |client| Ledger::inbox(client, id, &empty),
    );
    let candidates = [candidate()];
    each!(
        |client| Memory::write(client, &key, &candidates),
        |client| Memory::list(client, &key, None, 5),
        |client| Memory::forget(client, &key, "mem:x:0"),
    );
    outcomes
}

#[tokio::test(start_paused = true)]
async fn failures_of_every_route_have_their_class() {
    use StoreErrorKind::{Permanent, Refused, RouteMissing, Transient};
    for (status, kind) in [
        (500, Transient),
        (502, Transient),
        (503, Transient),
        (408, Transient),
        (429, Transient),
        (404, RouteMissing),
        (400, Refused),
        (401, Permanent),
        (405, Permanent),
        (411, Permanent),
        (413, Refused),
        (204, Permanent),
        (302, Permanent),
    ] {
        let outcomes = ask_everything(status, r#"{"error":"the reason"}"#).await;
        for (path, outcome) in &outcomes {
            let error = outcome.clone().unwrap_err();
            assert_eq!(
                (error.kind, error.message),
                (kind, format!("{status}: the reason")),
                "{path}"
            );
        }
        let mut paths: Vec<_> = outcomes.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        let is_fallible = |route: &Route| *route != Route::Memory(MemoryVerb::Retrieve);
        let mut all: Vec<_> = Route::all().filter(is_fallible).map(Route::path).collect();
        all.sort_unstable();
        assert_eq!(paths, all);
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_answer_is_never_a_result() {
    for (status, text) in [
        (200, ""),
        (200, "null"),
        (200, "[]"),
        (200, "{"),
        (200, "{}"),
        (200, r#"{"ok":null}"#),
        (409, ""),
        (409, "{}"),
        (409, r#"{"ok":false}"#),
        (409, r#"{"ok":false,"reason":"of a later age"}"#),
        (409, r#"{"ok":true,"reason":"fenced"}"#),
        (409, r#"{"ok":false,"reason":"thread-live"}"#),
        (
            409,
            r#"{"ok":false,"reason":"thread-live","live":{"runId":"a b","startedAt":5}}"#,
        ),
    ] {
        for (path, outcome) in ask_everything(status, text).await {
            let error = outcome.expect_err(&format!("{path} {status} {text}"));
            assert_eq!(
                error.kind,
                StoreErrorKind::Permanent,
                "{path} {status} {text}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn conflict_is_a_result_only_on_its_routes() {
    let fenced = r#"{"ok":false,"reason":"fenced"}"#;
    let thread_live = r#"{"ok":false,"reason":"thread-live","live":{"runId":"r9","startedAt":5}}"#;
    let has_fence = [
        "/runs/step",
        "/runs/heartbeat",
        "/runs/append",
        "/runs/state",
        "/runs/finishing",
        "/runs/finish",
        "/runs/transcript/write",
        "/runs/transcript/clear",
    ];
    for (path, outcome) in ask_everything(409, fenced).await {
        assert_eq!(outcome.is_ok(), has_fence.contains(&path), "{path}");
    }
    for (path, outcome) in ask_everything(409, thread_live).await {
        assert_eq!(outcome.is_ok(), path == "/runs/claim", "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn answer_must_match_the_request() {
    let another = json!({ "record": record("r2", 5) }).to_string();
    let mut broken = serde_json::to_value(record("r1", 5)).unwrap();
    broken["status"] = json!("fine");
    let broken = json!({ "record": broken }).to_string();
    for text in [
        &another,
        &broken,
        r#"{"record":[]}"#,
        r#"{"record":{"id":"r1"}}"#,
    ] {
        let (client, _) = scene(&[(200, text)]);
        let error = client.get(&run("r1")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
    let another = json!({ "summary": record("r2", 5) }).to_string();
    for text in [&another, r#"{"summary":1}"#, r#"{"summary":{"id":"r1"}}"#] {
        let (client, _) = scene(&[(200, text)]);
        let error = client.summary(&run("r1")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
    for text in [
        r#"{"items":{}}"#,
        r#"{"items":[1]}"#,
        r#"{"items":[{"id":"r1"}]}"#,
        r#"{"items":[],"nextBefore":{}}"#,
    ] {
        let (client, _) = scene(&[(200, text)]);
        let error = RunStore::list(&*client, &ListRequest::default())
            .await
            .unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
    for text in [
        r#"{"events":[{}]}"#,
        r#"{"events":[{"type":"x"}]}"#,
        r#"{"events":[],"nextAfterSeq":-1}"#,
    ] {
        let (client, _) = scene(&[(200, text)]);
        let error = client.events(&run("r1"), 0, 5).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn record_with_half_a_surrogate_is_readable() {
    let text = serde_json::to_string(&record("r1", 5))
        .unwrap()
        .replace("a run", "cut \\ud83d");
    let (client, _) = scene(&[(200, &format!("{{\"record\":{text}}}"))]);
    let read = client.get(&run("r1")).await.unwrap().unwrap();
    assert_eq!(read.label.as_deref(), Some("cut \u{FFFD}"));
}

#[tokio::test(start_paused = true)]
async fn rejection_reason_is_short_and_printable() {
    let long = format!("limit must be\n less {}", "x".repeat(1000));
    let (client, _) = scene(&[
        (400, &json!({ "error": long }).to_string()),
        (503, "<html>"),
    ]);
    let message = client.live().await.unwrap_err().message;
    assert!(
        message.starts_with("400: limit must be less x") && message.len() < 300,
        "{message}"
    );
    assert_eq!(
        client.live().await.unwrap_err().message,
        "503: no reason given"
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_route_marks_the_client_as_degraded() {
    let (client, _) = scene(&[(503, "{}"), (404, "{}"), (200, r#"{"runs":[]}"#)]);
    client.live().await.unwrap_err();
    assert!(!client.is_degraded());
    client.live().await.unwrap_err();
    client.live().await.unwrap();
    assert!(
        client.is_degraded(),
        "what was missing once is missing until the store is deployed"
    );
}
