//! Limits of live runs and follow-ups, and the queue of waiting runs.

use std::{sync::Arc, time::Duration};

use ars_auth::{Actor, Grants};
use ars_bot_core::{Capabilities, load_limits::LoadLimits, settings::Settings};
use ars_bot_ports::IncomingMessage;
use ars_events::{Actor as StopActor, ActorKind};
use ars_types::{RunId, RunStatus, StopMode, ThreadKey};
use tokio::task::JoinHandle;

use crate::support::*;

/// A process with one slot.
fn narrow(moves: Vec<Move>, capabilities: Capabilities) -> Arc<World> {
    let limits = LoadLimits { runs: Some(1), follow_ups: Some(1), ..LoadLimits::default() };
    Arc::new(world_of(moves, capabilities, |settings| Settings { load: limits, ..settings }))
}

/// The first process of a ledger, and the ones after it.
fn process(ledger: &Arc<ScriptedLedger>, generation: &str, moves: Vec<Move>) -> Arc<World> {
    narrow(moves, ledger.capability(generation, Arc::new(Reopening(Arc::default()))))
}

fn from(subject: &str, text: &str) -> IncomingMessage {
    IncomingMessage {
        actor: Actor::new(format!("http:{subject}"), Grants::default()),
        thread_key: ThreadKey::new("http", "default", subject),
        ..message(text)
    }
}

fn send(world: &Arc<World>, message: IncomingMessage, io: &Arc<Collector>) -> JoinHandle<()> {
    let (core, io) = (world.core.clone(), Arc::<Collector>::clone(io));
    tokio::spawn(async move { core.dispatch(message, io).await })
}

/// Sends a request that waits for a slot, and returns its run.
async fn wait_in_queue(world: &Arc<World>, subject: &str) -> (RunId, Arc<Collector>, JoinHandle<()>) {
    let io = Arc::new(Collector::default());
    let running = send(world, from(subject, "queued"), &io);
    while io.statuses.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let id = io.started.lock().unwrap()[0].clone();
    (id, io, running)
}

fn position(world: &World, id: &RunId) -> Option<u32> {
    world.core.registry().get(id).unwrap().queue_position
}

#[tokio::test(start_paused = true)]
async fn held_request_over_the_limit_is_refused() {
    let world = narrow(vec![Move::SayWhenReleased("first")], Capabilities::default());
    let (_, running) = under_way(&world, "hello").await;
    let io = Arc::new(Collector { is_held: true, ..Collector::default() });
    send(&world, from("bo", "hello"), &io).await.unwrap();
    assert!(io.said()[0].contains("1 live runs of all callers"), "{:?}", io.said());
    let large = Arc::new(Collector::default());
    send(&world, from("bo", &"x".repeat(70_000)), &large).await.unwrap();
    assert!(large.said()[0].contains("1 live runs"), "{:?}", large.said());
    assert!(io.started.lock().unwrap().is_empty());
    world.finish_and_settle(running).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_run_starts_when_a_slot_is_free() {
    let world = narrow(vec![Move::SayWhenReleased("first"), Move::Say("second")], Capabilities::default());
    let (_, first) = under_way(&world, "hello").await;
    let (id, io, second) = wait_in_queue(&world, "bo").await;
    assert_eq!(
        (position(&world, &id), io.statuses.lock().unwrap()[0].as_str()),
        (Some(1), "waiting for a free slot, position 1")
    );
    assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    world.finish(first).await;
    second.await.unwrap();
    world.settle().await;
    assert_eq!((io.said(), position(&world, &id)), (vec!["second".to_owned()], None));
    let record = world.store.puts.lock().unwrap().iter().rev().find(|record| record.id == id).cloned();
    let events = record.unwrap().events;
    assert_eq!(events.iter().filter(|event| event["kind"] == "queued").count(), 2);
    assert!(events.iter().any(|event| event["type"] == "span_end" && event["name"] == "dispatch.queue"));
}

#[tokio::test(start_paused = true)]
async fn waiting_run_can_be_stopped() {
    for (mode, status) in [(StopMode::Soft, RunStatus::StoppedSoft), (StopMode::Hard, RunStatus::StoppedHard)]
    {
        let world = narrow(vec![Move::SayWhenReleased("first")], Capabilities::default());
        let (_, first) = under_way(&world, "hello").await;
        let (id, io, second) = wait_in_queue(&world, "bo").await;
        world.core.registry().stop(&id, mode, StopActor::new(ActorKind::Chat, "http:bo"));
        second.await.unwrap();
        assert_eq!(*io.finished.lock().unwrap(), [status]);
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
    assert_eq!(*io.moved.lock().unwrap(), std::slice::from_ref(&id));

    let next = process(&ledger, "g2", vec![Move::Say("one"), Move::Say("two")]);
    let keeping = next.keep_ledger();
    ledger.until(|ledger| ledger.records.lock().unwrap().len() == 2).await;
    next.settle().await;
    keeping.abort();
    let records = ledger.records.lock().unwrap();
    let record = records.iter().find(|record| record.id == id).unwrap();
    assert_eq!(record.status, RunStatus::Completed);
    let inputs = record.events.iter().filter(|event| event["type"] == "input").count();
    let seqs: Vec<_> = record.events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!((inputs, seqs), (1, (1..=record.event_count).collect()));
}

#[tokio::test(start_paused = true)]
async fn started_run_is_not_started_again() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::SayWhenReleased("first"), Move::HangUntilStopped]);
    let (_, first) = under_way(&world, "hello").await;
    let (id, _, second) = wait_in_queue(&world, "bo").await;
    world.finish(first).await;
    ledger.until(|ledger| !ledger.runs()[&id].row.state.contains_key("queued")).await;
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn unread_follow_ups_are_limited() {
    let world = narrow(vec![Move::SayWhenReleased("first"), Move::Say("both")], Capabilities::default());
    let (_, running) = under_way(&world, "hello").await;
    let mut answers = Vec::new();
    for text in ["one", "two"] {
        let io = Arc::new(Collector::default());
        send(&world, message(text), &io).await.unwrap();
        answers.extend(io.said());
    }
    assert!(answers[0].contains("Passed on") && answers[1].contains("1 unread follow-ups"), "{answers:?}");
    world.finish_and_settle(running).await;
}
