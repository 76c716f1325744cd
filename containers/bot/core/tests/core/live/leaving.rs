//! Leaving a run to the next process, and the leave to reply.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::StoreErrorKind;
use ars_types::RunStatus;
use ars_wire::ledger::Phase;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{begin, world_of};
use crate::support::{
    Collector, Fault, Move, Reopening, ScriptedLedger, World, bash, outline, world, world_with,
};

#[tokio::test(start_paused = true)]
async fn a_stored_run_is_left_to_the_next_process_in_the_middle_of_a_model_call() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (io, running) = begin(&world, "hello");
    world.model.called.notified().await;
    assert!(world.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert!(io.replies.lock().unwrap().is_empty() && world.core.registry().list().is_empty());
    assert!(ledger.runs().values().all(|kept| kept.row.phase == Phase::Handoff));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_step_was_refused_for_good_holds_the_drain_and_ends_here() {
    let ledger = Arc::new(ScriptedLedger::default());
    let moves = vec![Move::Ask(vec![bash("x")]), Move::SayWhenTold("done here")];
    let world = world_of(&ledger, moves);
    // Step 0 is stored; the step before the command never will be.
    ledger.script("step", [Fault::None, Fault::Fail(StoreErrorKind::Refused)]);
    let (io, running) = begin(&world, "agent:coding repo:acme/app x");
    world.model.called.notified().await;
    world.model.called.notified().await;
    assert!(ledger.runs().values().all(|kept| kept.row.state.contains_key("unresumable")));
    let drained = tokio::spawn({
        let core = world.core.clone();
        async move { core.drain(Duration::from_secs(600)).await }
    });
    while !world.core.load().draining {
        tokio::task::yield_now().await;
    }
    world.model.go_on.notify_one();
    running.await.unwrap();
    assert!(drained.await.unwrap());
    assert_eq!(*io.replies.lock().unwrap(), ["done here"]);
    assert_eq!(ledger.count("handoff"), 0);
    assert_eq!(ledger.records.lock().unwrap().last().unwrap().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_keeps_the_reply_no_longer_than_the_lease_lasts() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Hang]);
    let began = tokio::time::Instant::now();
    let io = world.ask("hello").await;
    assert_eq!(*io.replies.lock().unwrap(), ["hi"]);
    // The lease lasts 30 s, and its last heartbeat may be 10 s old.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_at_the_end_of_its_run_asks_for_leave_all_the_same() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::SayWhenTold("hi")]);
    let (io, running) = begin(&world, "hello");
    world.model.called.notified().await;
    ledger.script("state", [Fault::StandStill(Duration::from_secs(21))]);
    ledger.script("finishing", [Fault::Slow(Duration::from_millis(700))]);
    // Meanwhile somebody else took the run over, and has the leave.
    ledger.runs().values_mut().for_each(|kept| kept.row.phase = Phase::Finishing);
    world.model.go_on.notify_one();
    running.await.unwrap();
    assert_eq!((ledger.count("finishing"), io.replies.lock().unwrap().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_ledger_knows_how_a_run_ends_before_it_is_asked_for_leave_to_say_so() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::SayWhenTold("hi")]);
    let (io, running) = begin(&world, "hello");
    world.model.called.notified().await;
    // More often than a state is tried at once.
    ledger.script("state", [Fault::Fail(StoreErrorKind::Transient); 5]);
    let before = ledger.asked.lock().unwrap().len();
    world.model.go_on.notify_one();
    running.await.unwrap();
    let asked = ledger.asked.lock().unwrap()[before..].to_vec();
    let first = asked.iter().position(|asked| *asked == "finishing").unwrap();
    assert_eq!(asked[..first].iter().filter(|asked| **asked == "state").count(), 6, "{asked:?}");
    assert_eq!(*io.replies.lock().unwrap(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_the_ledgers_leave_holds_the_drain_until_the_ledger_knows_of_it() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Fail(StoreErrorKind::Refused)]);
    // Longer than a record is tried for while its process waits.
    ledger.script("finish", [Fault::Fail(StoreErrorKind::Transient); 6]);
    let (io, running) = begin(&world, "hello");
    running.await.unwrap();
    assert_eq!(*io.replies.lock().unwrap(), ["hi"]);
    assert!(world.core.drain(Duration::from_secs(600)).await);
    assert!(ledger.runs().is_empty(), "the next process would reply again");
    assert_eq!(ledger.records.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_drains_deadline_leaves_unfinished_is_recorded_with_all_it_has_said() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    let (_, running) = begin(&world, "hello");
    world.model.called.notified().await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    assert_eq!(world.core.record_abandoned().await, 1);
    let record = world.last_record();
    assert_eq!((record.status, record.reply_ok), (RunStatus::Interrupted, None));
    assert!(record.finished_at > record.started_at);
    assert_eq!(outline(&record), ["input", "run_meta"]);
    running.abort();

    let ledger = Arc::new(ScriptedLedger::default());
    let handed_off = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = begin(&handed_off, "hello");
    handed_off.model.called.notified().await;
    assert!(handed_off.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert_eq!(handed_off.core.record_abandoned().await, 0);
}

/// A run that replied without the ledger's leave, at the drain's deadline: the ledger says nothing of it.
async fn replied_unheard() -> (Arc<World>, Arc<ScriptedLedger>) {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Fail(StoreErrorKind::Refused)]);
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); 10_000]);
    let (io, running) = begin(&world, "hello");
    running.await.unwrap();
    assert_eq!(*io.replies.lock().unwrap(), ["hi"]);
    assert!(!world.core.drain(Duration::from_secs(90)).await);
    (world, ledger)
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_over_and_whose_record_waits_for_the_ledger_is_recorded_as_it_ended_at_the_drains_deadline()
 {
    let (world, ledger) = replied_unheard().await;
    assert_eq!(world.core.record_abandoned().await, 1);
    let record = world.last_record();
    assert_eq!((record.status, record.reply_ok), (RunStatus::Completed, Some(true)));
    assert!(!ledger.runs().is_empty(), "whoever comes next hears what was left for it");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_another_process_has_ended_keeps_that_record_at_the_drains_deadline() {
    let (world, _) = replied_unheard().await;
    let id = world.core.registry().list()[0].id.clone();
    let mut ended = world.records().into_iter().rfind(|record| record.id == id).unwrap();
    (ended.status, ended.finished_at) = (RunStatus::Failed, ended.finished_at + 1);
    world.store.puts.lock().unwrap().push(ended);
    assert_eq!(world.core.record_abandoned().await, 0);
    assert_eq!(world.last_record().status, RunStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_while_it_is_recorded_as_abandoned_keeps_its_final_record() {
    let world = Arc::new(world(vec![Move::SayWhenTold("done after all")]));
    let (_, running) = begin(&world, "hello");
    world.model.called.notified().await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    let held = Arc::new(Notify::new());
    *world.store.hold.lock().unwrap() = Some(Arc::clone(&held));
    let core = world.core.clone();
    let abandoning = tokio::spawn(async move { core.record_abandoned().await });
    world.store.holding.notified().await;

    world.model.go_on.notify_one();
    running.await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(
        world.records().iter().all(|record| record.status == RunStatus::Interrupted),
        "it waits for the put"
    );
    held.notify_one();
    assert_eq!(abandoning.await.unwrap(), 1);
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_is_not_recorded_as_abandoned_at_another_attempt() {
    let world = Arc::new(world(vec![Move::SayWhenTold("done after all")]));
    let (_, running) = begin(&world, "hello");
    world.model.called.notified().await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    world.store.failures.lock().unwrap().push_back(StoreErrorKind::Transient);
    let core = world.core.clone();
    let abandoning = tokio::spawn(async move { core.record_abandoned().await });
    while !world.store.failures.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    world.model.go_on.notify_one();
    running.await.unwrap();
    assert_eq!(abandoning.await.unwrap(), 0);
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn the_token_that_opens_a_run_is_kept_with_it_and_in_no_record() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (io, running) = begin(&first, "hello");
    first.model.called.notified().await;
    let id = io.started.lock().unwrap()[0].clone();
    let token = first.core.registry().get(&id).unwrap().token;
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();

    let channels = Arc::new(Reopening(Arc::new(Collector::default())));
    let second = world_with(vec![Move::SayWhenTold("done")], ledger.capability("g2", channels));
    let (keeper, end) = (second.core.clone(), CancellationToken::new());
    let keeping = tokio::spawn({
        let end = end.clone();
        async move { keeper.keep_ledger(end).await }
    });
    second.model.called.notified().await;
    assert!(second.core.registry().open(&id, &token).is_some());
    second.model.go_on.notify_one();
    ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty()).await;
    end.cancel();
    keeping.await.unwrap();
    let record = serde_json::to_string(&ledger.records.lock().unwrap()[0]).unwrap();
    assert!(!record.contains(&token));
}

#[tokio::test(start_paused = true)]
async fn the_claim_in_the_ledger_is_a_span_of_the_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    world.ask("hello").await;
    let events = ledger.records.lock().unwrap()[0].events.clone();
    let of_claim = events.iter().filter(|event| event["name"] == "dispatch.ledger_claim");
    assert_eq!(of_claim.count(), 2, "its start and its end");
}
