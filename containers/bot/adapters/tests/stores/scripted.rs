//! What the client makes of answers and failures, whoever gave them: classes, malformed answers, retries.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use ars_bot_adapters::stores::{Answer, Client, Exchange};
use ars_bot_core::{
    ports::{
        Claim, FrictionRecords, Ledger, Owned, RunStore, Schedules, StoreError, StoreErrorKind, Stored,
        Transcripts,
    },
    retry::Retrying,
};
use ars_types::{Generation, RunId, StopMode, StoreKey};
use ars_wire::{
    Moment,
    ledger::{LEASE_MS, NewRun, Owner, StepRecord},
    runs::ListRequest,
    state::Route,
};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::suite::{record, run};

/// Gives the answers it was given, in turn; then it fails as a network does.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<(u16, String)>>,
    asked: Mutex<Vec<&'static str>>,
}

#[async_trait]
impl Exchange for Scripted {
    async fn exchange(&self, route: Route, _body: String) -> Result<Answer, StoreError> {
        self.asked.lock().unwrap().push(route.path());
        match self.answers.lock().unwrap().pop_front() {
            Some((status, text)) => Ok(Answer { status, text }),
            None => Err(StoreError { kind: StoreErrorKind::Transient, message: "unreachable".into() }),
        }
    }
}

impl Scripted {
    fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

type Scene = (Arc<Client<Arc<Scripted>>>, Arc<Scripted>);

fn scene(answers: &[(u16, &str)]) -> Scene {
    let exchange = Arc::new(Scripted::default());
    let answers = answers.iter().map(|(status, text)| (*status, (*text).to_owned()));
    *exchange.answers.lock().unwrap() = answers.collect();
    (Arc::new(Client::over(exchange.clone(), None).unwrap()), exchange)
}

fn owner() -> Owner {
    Owner { run_id: run("r1"), generation: generation() }
}

fn generation() -> Generation {
    Generation::parse("g1").unwrap()
}

fn ledger_key() -> StoreKey {
    StoreKey::parse("friction:default").unwrap()
}

fn new_run() -> NewRun {
    NewRun {
        run_id: run("r1"),
        thread_key: "t1".into(),
        generation: generation(),
        lease_ms: LEASE_MS,
        started_at: Moment::from(5),
        meta: Map::new(),
        card: None,
        system: String::new(),
        tools: Vec::new(),
        state: None,
    }
}

/// Asks every route but memory's once, with `answer` for each; yields what went wrong, by path.
async fn ask_everything(status: u16, text: &str) -> Vec<(&'static str, Result<(), StoreError>)> {
    let id: &RunId = &run("r1");
    let (whole, owner, generation) = (record("r1", 5), owner(), generation());
    let key = ledger_key();
    let friction = json!({ "runId": "r1", "finishedAt": 5, "diagnosis": {} });
    let friction = serde_json::from_value(friction).unwrap();
    let firing = json!({ "schedule": "s", "firedAt": 5, "outcome": "no-run" });
    let firing = serde_json::from_value(firing).unwrap();
    let mut outcomes = Vec::new();
    macro_rules! each {
        ($($call:expr),+ $(,)?) => {$({
            let (client, exchange) = scene(&[(status, text)]);
            let result = $call(&*client).await.map(drop);
            outcomes.push((exchange.asked()[0], result));
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
        |client| Ledger::stop(client, id, StopMode::Hard),
        |client| Ledger::handoff(client, &generation, &[]),
        |client| Ledger::reclaim(client, &generation, LEASE_MS, None),
        |client| Ledger::live_events(client, id),
        |client| Transcripts::set_owner(client, &owner),
        |client| Transcripts::write(client, &owner, &[], &[]),
        |client| Transcripts::read(client, id),
        |client| Transcripts::clear(client, id),
        |client| FrictionRecords::record(client, &key, &friction),
        |client| FrictionRecords::recent(client, &key, None, None),
        |client| Schedules::record(client, &firing),
        Schedules::latest,
    );
    let (list, run, step, empty) = (ListRequest::default(), new_run(), StepRecord::default(), Map::new());
    each!(
        |client| RunStore::list(client, &list),
        |client| Ledger::claim(client, &run),
        |client| Ledger::step(client, &owner, &step),
        |client| Ledger::state(client, &owner, &empty),
        |client| Ledger::inbox(client, id, &empty),
    );
    outcomes
}

#[tokio::test]
async fn every_route_is_asked_and_its_failures_have_their_class() {
    use StoreErrorKind::{Permanent, RouteMissing, Transient};
    for (status, kind) in [
        (500, Transient),
        (502, Transient),
        (503, Transient),
        (408, Transient),
        (429, Transient),
        (404, RouteMissing),
        (400, Permanent),
        (401, Permanent),
        (405, Permanent),
        (411, Permanent),
        (413, Permanent),
        (204, Permanent),
        (302, Permanent),
    ] {
        let outcomes = ask_everything(status, r#"{"error":"the reason"}"#).await;
        for (path, outcome) in &outcomes {
            let error = outcome.clone().unwrap_err();
            assert_eq!((error.kind, error.message), (kind, format!("{status}: the reason")), "{path}");
        }
        let mut paths: Vec<_> = outcomes.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        let mut all: Vec<_> =
            Route::all().filter(|route| !matches!(route, Route::Memory(_))).map(Route::path).collect();
        all.sort_unstable();
        assert_eq!(paths, all);
    }
}

#[tokio::test]
async fn no_route_takes_a_malformed_answer_for_a_result() {
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
        (409, r#"{"ok":false,"reason":"thread-live","live":{"runId":"a b","startedAt":5}}"#),
    ] {
        for (path, outcome) in ask_everything(status, text).await {
            let error = outcome.expect_err(&format!("{path} {status} {text}"));
            assert_eq!(error.kind, StoreErrorKind::Permanent, "{path} {status} {text}");
        }
    }
}

#[tokio::test]
async fn a_conflict_is_a_result_only_where_the_route_has_it() {
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
    ];
    for (path, outcome) in ask_everything(409, fenced).await {
        assert_eq!(outcome.is_ok(), has_fence.contains(&path), "{path}");
    }
    for (path, outcome) in ask_everything(409, thread_live).await {
        assert_eq!(outcome.is_ok(), path == "/runs/claim", "{path}");
    }
}

#[tokio::test]
async fn what_an_answer_holds_must_be_what_was_asked_for() {
    let another = json!({ "record": record("r2", 5) }).to_string();
    let mut broken = serde_json::to_value(record("r1", 5)).unwrap();
    broken["status"] = json!("fine");
    let broken = json!({ "record": broken }).to_string();
    for text in [&another, &broken, r#"{"record":[]}"#, r#"{"record":{"id":"r1"}}"#] {
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
        let error = client.list(&ListRequest::default()).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
    for text in [r#"{"events":[{}]}"#, r#"{"events":[{"type":"x"}]}"#, r#"{"events":[],"nextAfterSeq":-1}"#] {
        let (client, _) = scene(&[(200, text)]);
        let error = client.events(&run("r1"), 0, 5).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Permanent, "{text}");
    }
}

#[tokio::test]
async fn a_record_another_writer_left_half_a_character_in_is_still_read() {
    let text = serde_json::to_string(&record("r1", 5)).unwrap().replace("a run", "cut \\ud83d");
    let (client, _) = scene(&[(200, &format!("{{\"record\":{text}}}"))]);
    let read = client.get(&run("r1")).await.unwrap().unwrap();
    assert_eq!(read.label.as_deref(), Some("cut \u{FFFD}"));
}

#[tokio::test]
async fn a_reason_is_told_short_and_without_control_characters() {
    let long = format!("limit must be\n less {}", "x".repeat(1000));
    let (client, _) = scene(&[(400, &json!({ "error": long }).to_string()), (503, "<html>")]);
    let message = client.live().await.unwrap_err().message;
    assert!(message.starts_with("400: limit must be less x") && message.len() < 300, "{message}");
    assert_eq!(client.live().await.unwrap_err().message, "503: no reason given");
}

#[tokio::test]
async fn a_missing_route_marks_the_client_as_degraded() {
    let (client, _) = scene(&[(503, "{}"), (404, "{}"), (200, r#"{"runs":[]}"#)]);
    client.live().await.unwrap_err();
    assert!(!client.is_degraded());
    client.live().await.unwrap_err();
    client.live().await.unwrap();
    assert!(client.is_degraded(), "what was missing once is missing until the store is deployed");
}

const OK: (u16, &str) = (200, r#"{"ok":true}"#);
const BUSY: (u16, &str) = (503, "{}");

/// The outcome through the retries, the attempts, and the milliseconds they took.
async fn retried<T>(
    answers: &[(u16, &str)],
    call: impl AsyncFn(&Retrying) -> Result<T, StoreError>,
) -> (Result<T, StoreErrorKind>, usize, u128) {
    let (client, exchange) = scene(answers);
    let began = Instant::now();
    let result = call(&Retrying::new(client)).await;
    (result.map_err(|error| error.kind), exchange.asked().len(), began.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_tried_three_times_and_a_step_or_state_twice() {
    use StoreErrorKind::Transient;
    let claim = async |ledger: &Retrying| ledger.claim(&new_run()).await;
    assert_eq!(retried(&[BUSY, OK], claim).await, (Ok(Claim::Granted), 2, 200));
    assert_eq!(retried(&[BUSY, BUSY, OK], claim).await, (Ok(Claim::Granted), 3, 1000));
    assert_eq!(retried(&[], claim).await, (Err(Transient), 3, 1000));
    let step = async |ledger: &Retrying| ledger.step(&owner(), &StepRecord::default()).await;
    assert_eq!(retried(&[BUSY, OK], step).await, (Ok(Owned::Done(())), 2, 200));
    assert_eq!(retried(&[BUSY, BUSY, OK], step).await, (Err(Transient), 2, 200));
    let state = async |ledger: &Retrying| ledger.state(&owner(), &Map::new()).await;
    assert_eq!(retried(&[BUSY, OK], state).await, (Ok(Owned::Done(())), 2, 200));
    assert_eq!(retried(&[], state).await, (Err(Transient), 2, 200));
}

#[tokio::test(start_paused = true)]
async fn conflicts_refusals_and_missing_routes_are_not_tried_again() {
    let step = async |ledger: &Retrying| ledger.step(&owner(), &StepRecord::default()).await;
    let fenced = (409, r#"{"ok":false,"reason":"fenced"}"#);
    assert_eq!(retried(&[fenced, OK], step).await, (Ok(Owned::Fenced), 1, 0));
    for (status, kind) in [
        (400, StoreErrorKind::Permanent),
        (404, StoreErrorKind::RouteMissing),
        (413, StoreErrorKind::Permanent),
    ] {
        assert_eq!(retried(&[(status, "{}"), OK], step).await, (Err(kind), 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_other_routes_go_through_once() {
    let mut once = Vec::new();
    macro_rules! each {
        ($($call:expr),+ $(,)?) => {$(
            let (result, attempts, waited) = retried(&[], $call).await;
            once.push((result.map(drop), attempts, waited));
        )+};
    }
    let whole = record("r1", 5);
    each!(
        async |ledger: &Retrying| ledger.live().await,
        async |ledger: &Retrying| ledger.heartbeat(&owner(), LEASE_MS).await,
        async |ledger: &Retrying| ledger.append(&owner(), &[]).await,
        async |ledger: &Retrying| ledger.finishing(&owner()).await,
        async |ledger: &Retrying| ledger.finish(&owner(), &whole).await,
        async |ledger: &Retrying| ledger.stop(&run("r1"), StopMode::Soft).await,
        async |ledger: &Retrying| ledger.inbox(&run("r1"), &Map::new()).await,
        async |ledger: &Retrying| ledger.handoff(&generation(), &[]).await,
        async |ledger: &Retrying| ledger.reclaim(&generation(), LEASE_MS, None).await,
        async |ledger: &Retrying| ledger.live_events(&run("r1")).await,
    );
    assert!(once.iter().all(|outcome| *outcome == (Err(StoreErrorKind::Transient), 1, 0)), "{once:?}");
}

#[tokio::test]
async fn a_transcript_that_cannot_be_cleared_does_not_spoil_the_finish() {
    let (client, exchange) = scene(&[(200, r#"{"ok":true,"stored":true}"#), BUSY]);
    let finished = client.finish(&owner(), &record("r1", 5)).await.unwrap();
    assert_eq!(finished, Owned::Done(Stored { stored: true }));
    assert_eq!(exchange.asked(), ["/runs/finish", "/runs/transcript/clear"]);
    let (client, exchange) = scene(&[(409, r#"{"ok":false,"reason":"fenced"}"#)]);
    assert_eq!(client.finish(&owner(), &record("r1", 5)).await.unwrap(), Owned::Fenced);
    assert_eq!(exchange.asked(), ["/runs/finish"], "whose transcript it is now may need it");
}

fn reclaimed(id: &str) -> Value {
    json!({
        "row": { "runId": id, "threadKey": id, "ownerGen": "g1", "leaseUntil": 9.5, "startedAt": 5, "phase": "live",
            "stop": null, "meta": {}, "card": null, "system": "", "tools": [], "state": {} },
        "reclaimedFrom": "handoff", "lastStep": null, "inbox": [], "jobs": [{ "kind": "reflect", "payload": [1] }],
    })
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_transcript_does_not_change_hands_is_left_out_of_a_reclaim() {
    let runs = json!({ "runs": [reclaimed("r1"), reclaimed("r2")] }).to_string();
    let (client, exchange) = scene(&[(200, &runs), OK, BUSY, BUSY]);
    let taken = client.reclaim(&generation(), LEASE_MS, None).await.unwrap();
    let ids: Vec<_> = taken.iter().map(|run| run.row.run_id.as_str()).collect();
    assert_eq!((ids, exchange.asked().len()), (vec!["r1"], 4), "each owner is tried twice");
    assert_eq!(taken[0].row.lease_until, Moment::new(9.5).unwrap());
    assert_eq!(taken[0].jobs[0].kind, "reflect");
}
