//! Live run and follow-up limits, and the queue of waiting runs.

use std::{sync::Arc, time::Duration};

use ars_auth::{Actor, Grants, Ingress, TokenMap};
use ars_bot_core::{Capabilities, load_limits::LoadLimits, settings::Settings};
use ars_bot_ports::{IncomingMessage, StoreErrorKind};
use ars_events::{Actor as StopActor, ActorKind};
use ars_runs::RunRecord;
use ars_types::{Platform, RunId, RunStatus, StopMode, ThreadKey};
use tokio::task::JoinHandle;

use crate::support::*;

/// A process with a single slot.
fn narrow(moves: Vec<Move>, capabilities: Capabilities) -> Arc<World> {
    let limits = LoadLimits {
        runs: Some(1),
        follow_ups: Some(1),
        ..LoadLimits::default()
    };
    Arc::new(world_of(moves, capabilities, |settings| Settings {
        load: limits,
        ..settings
    }))
}

/// A ledger's first process, and the processes after it.
fn process(ledger: &Arc<ScriptedLedger>, generation: &str, moves: Vec<Move>) -> Arc<World> {
    narrow(
        moves,
        ledger.capability(generation, Arc::new(ReopenedChannel(Arc::default()))),
    )
}

fn from(subject: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        actor: Actor::new(format!("http:{subject}"), Grants::default()),
        thread_key: ThreadKey::new(Platform::Http, "default", subject),
        ..message(text)
    }
}

/// Sends a request that waits for a slot, and returns the run.
async fn wait_in_queue(
    world: &Arc<World>,
    subject: &str,
) -> (RunId, Arc<RecordingChannel>, JoinHandle<()>) {
    let io = Arc::new(RecordingChannel::default());
    let running = send(world, from(subject, "queued"), &io);
    while io.statuses().is_empty() {
        tokio::task::yield_now().await;
    }
    let id = io.started()[0].clone();
    (id, io, running)
}

fn position(world: &World, id: &RunId) -> Option<u32> {
    world
        .core
        .registry()
        .get(id)
        .unwrap()
        .queue
        .map(|place| place.position)
}

#[tokio::test(start_paused = true)]
async fn held_request_over_the_limit_is_refused() {
    let world = narrow(
        vec![Move::SayWhenReleased("first")],
        Capabilities::default(),
    );
    let (_, running) = under_way(&world, "hello").await;
    let io = Arc::new(RecordingChannel {
        traits: Platform::Http.channel_traits(),
        ..RecordingChannel::default()
    });
    send(&world, from("bo", "hello"), &io).await.unwrap();
    assert!(
        io.said()[0].contains("1 live runs of all callers"),
        "{:?}",
        io.said()
    );
    let large = Arc::new(RecordingChannel::default());
    send(&world, from("bo", &"x".repeat(70_000)), &large)
        .await
        .unwrap();
    assert!(
        large.said()[0].contains("1 live runs"),
        "{:?}",
        large.said()
    );
    assert!(io.started().is_empty());
    world.finish_and_settle(running).await;
}

#[tokio::test(start_paused = true)]
async fn person_is_one_caller() {
    let limits = LoadLimits {
        runs_per_caller: Some(1),
        ..LoadLimits::default()
    };
    let moves = vec![Move::SayWhenReleased("first"), Move::Say("second")];
    let world = world_of(moves, Capabilities::default(), |mut settings| {
        settings.people.add(&["slack:U1", "http:ann"]).unwrap();
        Settings {
            load: limits,
            ..settings
        }
    });
    let world = Arc::new(world);
    let (_, running) = under_way(&world, "hello").await;
    let said = async |account: &str| {
        let io = Arc::new(RecordingChannel {
            traits: Platform::Http.channel_traits(),
            ..RecordingChannel::default()
        });
        let message = IncomingMessage {
            actor: Actor::new(account, Grants::default()),
            thread_key: ThreadKey::new(Platform::Http, "default", account),
            ..message("hello")
        };
        send(&world, message, &io).await.unwrap();
        io.said()[0].clone()
    };
    assert!(said("slack:U1").await.contains("1 live runs"));
    assert_eq!(said("http:bob").await, "second");
    world.finish_and_settle(running).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_run_starts_when_a_slot_is_free() {
    let world = narrow(
        vec![Move::SayWhenReleased("first"), Move::Say("second")],
        Capabilities::default(),
    );
    let (_, first) = under_way(&world, "hello").await;
    let (id, io, second) = wait_in_queue(&world, "bo").await;
    assert_eq!(
        (position(&world, &id), io.statuses()[0].as_str()),
        (
            Some(1),
            "waiting for a free slot, position 1, limit of 1 live runs of all callers reached"
        )
    );
    assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    world.finish(first).await;
    second.await.unwrap();
    world.settle().await;
    assert_eq!(
        (io.said(), position(&world, &id)),
        (vec!["second".to_owned()], None)
    );
    let record = world
        .store
        .puts
        .lock()
        .unwrap()
        .iter()
        .rev()
        .find(|record| record.id == id)
        .cloned();
    let events = record.unwrap().events;
    assert_eq!(
        events
            .iter()
            .filter(|event| event["kind"] == "queued")
            .count(),
        2
    );
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "span_end" && event["name"] == "dispatch.queue")
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_run_can_be_stopped() {
    for (mode, status) in [
        (StopMode::Soft, RunStatus::StoppedSoft),
        (StopMode::Hard, RunStatus::StoppedHard),
    ] {
        let world = narrow(
            vec![Move::SayWhenReleased("first")],
            Capabilities::default(),
        );
        let (_, first) = under_way(&world, "hello").await;
        let (id, io, second) = wait_in_queue(&world, "bo").await;
        world
            .core
            .registry()
            .stop(&id, mode, StopActor::new(ActorKind::Chat, "http:bo"));
        second.await.unwrap();
        assert_eq!(io.finished(), [status]);
        assert!(io.said()[0].contains("while it waited"), "{:?}", io.said());
        world.finish_and_settle(first).await;
        assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn next_process_continues_the_queue() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::HangUntilStopped]);
    let (_, first) = under_way(&world, "hello").await;
    let (id, io, second) = wait_in_queue(&world, "bo").await;
    assert!(ledger.runs()[&id].row.state.contains_key("queued"));
    assert!(world.core.drain(Duration::from_secs(60)).await);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(io.moved(), std::slice::from_ref(&id));

    let next = process(&ledger, "g2", vec![Move::Say("one"), Move::Say("two")]);
    let keeping = next.keep_ledger();
    ledger
        .until(|ledger| ledger.records.lock().unwrap().len() == 2)
        .await;
    next.settle().await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    let record = records.iter().find(|record| record.id == id).unwrap();
    assert_eq!(record.status, RunStatus::Completed);
    let inputs = record
        .events
        .iter()
        .filter(|event| event["type"] == "input")
        .count();
    let seqs: Vec<_> = record
        .events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!((inputs, seqs), (1, (1..=record.event_count).collect()));
}

/// Lets a token's request wait, and continues in a process with these tokens. Returns the record.
async fn taken_up_with(tokens: &str) -> RunRecord {
    let sent = TokenMap::parse(Some(r#"{"t1":{"subject":"bo"}}"#)).map;
    let actor = Actor::service(Ingress::Http, sent.authenticate("t1").unwrap());
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::HangUntilStopped]);
    let (_, first) = under_way(&world, "hello").await;
    let io = Arc::new(RecordingChannel::default());
    let second = send(
        &world,
        IncomingMessage {
            actor,
            ..from("bo", "queued")
        },
        &io,
    );
    while io.statuses().is_empty() {
        tokio::task::yield_now().await;
    }
    let id = io.started()[0].clone();
    assert!(world.core.drain(Duration::from_secs(60)).await);
    first.await.unwrap();
    second.await.unwrap();

    let tokens = Some(Arc::new(TokenMap::parse(Some(tokens)).map));
    let capabilities = ledger.capability("g2", Arc::new(ReopenedChannel(Arc::default())));
    let next = narrow(
        vec![Move::Say("one"), Move::Say("two")],
        Capabilities {
            tokens,
            ..capabilities
        },
    );
    let keeping = next.keep_ledger();
    ledger
        .until(|ledger| ledger.records.lock().unwrap().len() == 2)
        .await;
    next.settle().await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    records
        .iter()
        .find(|record| record.id == id)
        .unwrap()
        .clone()
}

#[tokio::test(start_paused = true)]
async fn queued_request_of_a_removed_token_is_dropped() {
    for tokens in [
        "{}",
        r#"{"t2":{"subject":"bo"}}"#,
        r#"{"t1":{"subject":"bo","scopes":[]}}"#,
    ] {
        let record = taken_up_with(tokens).await;
        let events = serde_json::to_string(&record.events).unwrap();
        assert_eq!(record.status, RunStatus::Interrupted, "{tokens}");
        assert!(
            events.contains("the token that sent it is no longer configured"),
            "{events}"
        );
        assert!(!outline(&record).contains(&"run_meta".to_owned()));
    }
    assert_eq!(
        taken_up_with(r#"{"t1":{"subject":"bo"}}"#).await.status,
        RunStatus::Completed
    );
}

/// A process without readable tokens would drop it.
#[tokio::test(start_paused = true)]
async fn queued_request_waits_for_readable_tokens() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::HangUntilStopped]);
    let (_, first) = under_way(&world, "hello").await;
    let (id, _, second) = wait_in_queue(&world, "bo").await;
    assert!(world.core.drain(Duration::from_secs(60)).await);
    first.await.unwrap();
    second.await.unwrap();

    let mut capabilities = ledger.capability("g2", Arc::new(ReopenedChannel(Arc::default())));
    capabilities.ledger.as_mut().unwrap().reclaims = false;
    let unable = narrow(Vec::new(), capabilities);
    let keeping = unable.keep_ledger();
    // Several loop passes. The clock is paused.
    let record = ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty());
    assert!(
        tokio::time::timeout(Duration::from_secs(300), record)
            .await
            .is_err()
    );
    assert!(ledger.runs().contains_key(&id));
    keeping.abort();

    let next = process(&ledger, "g3", vec![Move::Say("one"), Move::Say("two")]);
    let keeping = next.keep_ledger();
    ledger
        .until(|ledger| ledger.records.lock().unwrap().len() == 2)
        .await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    assert_eq!(
        records
            .iter()
            .find(|record| record.id == id)
            .unwrap()
            .status,
        RunStatus::Completed
    );
}

/// Starts a waiting run in a process that dies then. Returns the next process's record.
async fn started_and_killed(
    fault: Option<Fault>,
    is_under_way: impl Fn(&Kept) -> bool,
) -> RunRecord {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(
        &ledger,
        "g1",
        vec![Move::SayWhenReleased("first"), Move::HangUntilStopped],
    );
    let (_, first) = under_way(&world, "hello").await;
    let (id, _, second) = wait_in_queue(&world, "bo").await;
    ledger.script("step", fault);
    world.finish(first).await;
    ledger
        .until(|ledger| is_under_way(&ledger.runs()[&id]))
        .await;
    second.abort();

    let next = process(&ledger, "g2", vec![Move::Say("two")]);
    let keeping = next.keep_ledger();
    let of_run = |record: &&RunRecord| record.id == id;
    ledger
        .until(|ledger| {
            ledger
                .records
                .lock()
                .unwrap()
                .iter()
                .any(|record| of_run(&record))
        })
        .await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    records.iter().find(of_run).unwrap().clone()
}

fn assert_ran_once(record: &RunRecord) {
    let count = |kind: &str| {
        record
            .events
            .iter()
            .filter(|event| event["type"] == kind)
            .count()
    };
    let seqs: Vec<_> = record
        .events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert_eq!(
        (record.status, count("input"), count("answer")),
        (RunStatus::Completed, 1, 1)
    );
    assert_eq!(seqs, (1..=record.event_count).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn started_run_is_not_started_again() {
    let record = started_and_killed(None, |run| !run.steps.is_empty()).await;
    assert_ran_once(&record);
    // A start publishes this event, and the first process died before it flushed its own.
    assert!(!outline(&record).contains(&"run_meta".to_owned()));
}

/// The process dies between the queue and the first stored step, with the step's turns stored.
#[tokio::test(start_paused = true)]
async fn run_without_a_step_starts_again() {
    let record = started_and_killed(Some(Fault::Hang), |run| {
        run.row.state.contains_key("resume")
    })
    .await;
    assert_ran_once(&record);
    let texts = record
        .events
        .iter()
        .filter_map(|event| event["summary"].as_str());
    assert_eq!(
        texts
            .filter(|text| text.starts_with("started again"))
            .count(),
        1
    );
}

/// A run that leaves the queue while the ledger does not answer.
async fn leaves_during_an_outage() -> (Arc<World>, RunId, Arc<RecordingChannel>, JoinHandle<()>) {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::SayWhenReleased("first")]);
    // The first run has no state in the ledger, so only the second meets the outage.
    ledger.script("claim", [Fault::Fail(StoreErrorKind::Permanent)]);
    let (_, first) = under_way(&world, "hello").await;
    let (id, io, second) = wait_in_queue(&world, "bo").await;
    ledger.script("state", [Fault::Hang]);
    let before = ledger.count("state");
    world.finish(first).await;
    ledger.until(|ledger| ledger.count("state") > before).await;
    (world, id, io, second)
}

#[tokio::test(start_paused = true)]
async fn stop_ends_a_run_that_leaves_the_queue() {
    for (mode, status) in [
        (StopMode::Soft, RunStatus::StoppedSoft),
        (StopMode::Hard, RunStatus::StoppedHard),
    ] {
        let (world, id, io, second) = leaves_during_an_outage().await;
        world
            .core
            .registry()
            .stop(&id, mode, StopActor::new(ActorKind::Chat, "http:bo"));
        second.await.unwrap();
        assert_eq!(io.finished(), [status]);
        assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_hands_off_a_run_that_leaves_the_queue() {
    let (world, id, io, second) = leaves_during_an_outage().await;
    assert!(world.core.drain(Duration::from_secs(60)).await);
    second.await.unwrap();
    assert_eq!(io.moved(), [id]);
}

/// A killed process leaves a live run and three that wait. The next process starts them one at a
/// time.
#[tokio::test(start_paused = true)]
async fn killed_queue_keeps_its_order() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::SayWhenReleased("first")]);
    let (_, first) = under_way(&world, "hello").await;
    let mut waiting = Vec::new();
    for subject in ["bo", "cy", "di"] {
        waiting.push(wait_in_queue(&world, subject).await);
    }
    first.abort();
    waiting.iter().for_each(|(.., running)| running.abort());

    let answers = ["one", "two", "three", "four"];
    let next = process(&ledger, "g2", answers.map(Move::Say).into());
    let keeping = next.keep_ledger();
    ledger
        .until(|ledger| ledger.records.lock().unwrap().len() == 4)
        .await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    let of_run = |id: &RunId| records.iter().find(|record| record.id == *id).unwrap();
    records.iter().for_each(assert_ran_once);
    let began = |id: &RunId| {
        let started = of_run(id)
            .events
            .iter()
            .find(|event| event["type"] == "run_meta");
        started.unwrap()["at"].as_i64().unwrap()
    };
    let began: Vec<_> = waiting.iter().map(|(id, ..)| began(id)).collect();
    assert!(began.is_sorted(), "{began:?}");
}

#[tokio::test(start_paused = true)]
async fn unread_follow_ups_are_limited() {
    let world = narrow(
        vec![Move::SayWhenReleased("first"), Move::Say("both")],
        Capabilities::default(),
    );
    let (_, running) = under_way(&world, "hello").await;
    let mut answers = Vec::new();
    for text in ["one", "two"] {
        let io = Arc::new(RecordingChannel::default());
        send(&world, message(text), &io).await.unwrap();
        answers.extend(io.said());
    }
    assert!(
        answers[0].contains("Passed on") && answers[1].contains("1 unread follow-ups"),
        "{answers:?}"
    );
    world.finish_and_settle(running).await;
}
