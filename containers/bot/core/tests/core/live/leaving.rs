//! Handing off a run to the next process, and the reply permit.

use std::{sync::Arc, time::Duration};

use ars_bot_core::settings::Settings;
use ars_bot_ports::StoreErrorKind;
use ars_types::RunStatus;
use ars_wire::ledger::Phase;
use tokio::sync::Notify;

use super::world_of;
use crate::support::{self, *};

#[tokio::test(start_paused = true)]
async fn stored_run_is_handed_off_during_a_call() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (io, running) = under_way(&world, "hello").await;
    assert!(world.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert!(io.said().is_empty() && world.core.registry().list().is_empty());
    assert!(
        ledger
            .runs()
            .values()
            .all(|kept| kept.row.phase == Phase::Handoff)
    );
    assert_eq!(io.moved(), io.started());
}

#[tokio::test(start_paused = true)]
async fn handed_off_run_is_named_with_its_page() {
    for (base, page) in [
        (
            Some("https://bot.example.com/"),
            "https://bot.example.com/runs/",
        ),
        (None, "/runs/"),
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        let capabilities = ledger.capability("g1", Arc::new(ReopenedChannel(Arc::default())));
        let with_url = |settings| Settings {
            public_base_url: base.map(str::to_owned),
            ..settings
        };
        let world = Arc::new(support::world_of(
            vec![Move::HangUntilStopped],
            capabilities,
            with_url,
        ));
        let (io, running) = under_way(&world, "hello").await;
        assert!(world.core.drain(Duration::from_secs(60)).await);
        running.await.unwrap();
        let id = io.moved()[0].clone();
        assert_eq!(io.moved_to(), Some(format!("{page}{id}")));
    }
}

#[tokio::test(start_paused = true)]
async fn run_with_rejected_step_ends_in_the_drain() {
    let ledger = Arc::new(ScriptedLedger::default());
    let moves = vec![
        Move::Ask(vec![bash("x")]),
        Move::SayWhenReleased("done here"),
    ];
    let world = world_of(&ledger, moves);
    // Step 0 is stored. The step before the command is never stored.
    ledger.script("step", [Fault::None, Fault::Fail(StoreErrorKind::Refused)]);
    let (io, running) = under_way(&world, "agent:coding repo:acme/app x").await;
    world.model.called.notified().await;
    assert!(
        ledger
            .runs()
            .values()
            .all(|kept| kept.row.state.contains_key("unresumable"))
    );
    let drained = tokio::spawn({
        let core = world.core.clone();
        async move { core.drain(Duration::from_secs(600)).await }
    });
    while !world.core.load().draining {
        tokio::task::yield_now().await;
    }
    world.finish(running).await;
    assert!(drained.await.unwrap());
    assert_eq!(io.said(), ["done here"]);
    assert_eq!(ledger.count("handoff"), 0);
    assert_eq!(
        ledger.records.lock().unwrap().last().unwrap().status,
        RunStatus::Completed
    );
}

#[tokio::test(start_paused = true)]
async fn hanging_permit_delays_the_reply_within_the_lease() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Hang]);
    let began = tokio::time::Instant::now();
    let io = world.ask("hello").await;
    assert_eq!(io.said(), ["hi"]);
    // The lease lasts 30 s, and the last heartbeat may be 10 s old.
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn suspended_process_still_acquires_the_permit() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::SayWhenReleased("hi")]);
    let (io, running) = under_way(&world, "hello").await;
    ledger.script("state", [Fault::StandStill(Duration::from_secs(21))]);
    ledger.script("finishing", [Fault::Slow(Duration::from_millis(700))]);
    // Another process reclaimed the run and has the permit.
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.row.phase = Phase::Finishing);
    world.finish(running).await;
    assert_eq!((ledger.count("finishing"), io.said().len()), (1, 0));
    assert_eq!(io.moved(), io.started());
}

#[tokio::test(start_paused = true)]
async fn final_status_precedes_the_permit() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::SayWhenReleased("hi")]);
    let (io, running) = under_way(&world, "hello").await;
    // More often than a state is retried at once.
    ledger.script("state", [Fault::Fail(StoreErrorKind::Transient); 5]);
    let before = ledger.asked.lock().unwrap().len();
    world.finish(running).await;
    let asked = ledger.asked.lock().unwrap()[before..].to_vec();
    let first = asked
        .iter()
        .position(|asked| *asked == "finishing")
        .unwrap();
    assert_eq!(
        asked[..first]
            .iter()
            .filter(|asked| **asked == "state")
            .count(),
        6,
        "{asked:?}"
    );
    assert_eq!(io.said(), ["hi"]);
}

/// The ledger has the run, but every answer takes longer than a requester waits.
#[tokio::test(start_paused = true)]
async fn slow_ledger_stores_the_record_of_an_unconfirmed_run() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("claim", [Fault::AnswerLost; 3]);
    ledger.script("flush", [Fault::Slow(Duration::from_secs(6)); 1000]);
    let keeping = world.keep_ledger();
    let (io, running) = begin(&world, "hello");
    running.await.unwrap();
    assert_eq!(io.said(), ["hi"]);
    let recorded = ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty());
    assert!(
        tokio::time::timeout(Duration::from_secs(60), recorded)
            .await
            .is_ok(),
        "the record is lost"
    );
    keeping.abort();
    assert_eq!(
        ledger.records.lock().unwrap()[0].status,
        RunStatus::Completed
    );
}

/// Another process could work on the thread if a run has no row.
#[tokio::test(start_paused = true)]
async fn rejected_claim_rejects_the_request() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("claim", [Fault::Fail(StoreErrorKind::Refused)]);
    let io = super::say(&world, "hello").await;
    let [reply] = &io.said()[..] else {
        panic!("{:?}", io.said())
    };
    assert!(reply.contains("cannot be recorded"), "{reply}");
    assert_eq!(ledger.count("claim"), 1);
    // The thread is free.
    assert_eq!(super::say(&world, "again").await.said(), ["hi"]);
}

/// The run keeps the thread until the record is written. That takes longer than a caller needs for
/// the next request.
#[tokio::test(start_paused = true)]
async fn request_for_another_agent_may_follow_the_answer_at_once() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi"), Move::Say("fixed")]);
    ledger.script("finish", [Fault::Slow(Duration::from_secs(1))]);
    assert_eq!(super::say(&world, "hello").await.said(), ["hi"]);
    assert_eq!(
        super::say(&world, "agent:coding repo:acme/app fix it")
            .await
            .said(),
        ["fixed"]
    );
}

#[tokio::test(start_paused = true)]
async fn reply_without_permit_delays_the_drain() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Fail(StoreErrorKind::Refused)]);
    // Longer than a record is retried while the process waits.
    ledger.script("finish", [Fault::Fail(StoreErrorKind::Transient); 6]);
    let (io, running) = begin(&world, "hello");
    running.await.unwrap();
    assert_eq!(io.said(), ["hi"]);
    assert!(world.core.drain(Duration::from_secs(600)).await);
    assert!(
        ledger.runs().is_empty(),
        "the next process would reply again"
    );
    assert_eq!(ledger.records.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unfinished_run_is_recorded_at_the_deadline() {
    let world = Arc::new(world(vec![Move::HangUntilStopped]));
    let (_, running) = under_way(&world, "hello").await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    assert_eq!(world.core.record_abandoned().await, 1);
    let record = world.last_record();
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::Interrupted, None)
    );
    assert!(record.finished_at > record.started_at);
    assert_eq!(outline(&record), ["input", "run_meta"]);
    running.abort();

    let ledger = Arc::new(ScriptedLedger::default());
    let handed_off = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&handed_off, "hello").await;
    assert!(handed_off.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert_eq!(handed_off.core.record_abandoned().await, 0);
}

/// A run that replied without a permit, at the drain's deadline, during a ledger outage.
async fn replied_unheard() -> (Arc<World>, Arc<ScriptedLedger>) {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    ledger.script("finishing", [Fault::Fail(StoreErrorKind::Refused)]);
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); 10_000]);
    let (io, running) = begin(&world, "hello");
    running.await.unwrap();
    assert_eq!(io.said(), ["hi"]);
    assert!(!world.core.drain(Duration::from_secs(90)).await);
    (world, ledger)
}

#[tokio::test(start_paused = true)]
async fn ended_run_is_recorded_at_the_deadline() {
    let (world, ledger) = replied_unheard().await;
    assert_eq!(world.core.record_abandoned().await, 1);
    let record = world.last_record();
    assert_eq!(
        (record.status, record.reply_ok),
        (RunStatus::Completed, Some(true))
    );
    assert!(
        !ledger.runs().is_empty(),
        "whoever comes next hears what was left for it"
    );
}

#[tokio::test(start_paused = true)]
async fn foreign_final_record_survives_the_deadline() {
    let (world, _) = replied_unheard().await;
    let id = world.core.registry().list()[0].id.clone();
    let mut ended = world
        .records()
        .into_iter()
        .rfind(|record| record.id == id)
        .unwrap();
    (ended.status, ended.finished_at) = (RunStatus::Failed, ended.finished_at + 1);
    world.store.puts.lock().unwrap().push(ended);
    assert_eq!(world.core.record_abandoned().await, 0);
    assert_eq!(world.last_record().status, RunStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn final_record_replaces_an_abandoned_one() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("done after all")]));
    let (_, running) = under_way(&world, "hello").await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    let held = Arc::new(Notify::new());
    *world.store.hold.lock().unwrap() = Some(Arc::clone(&held));
    let core = world.core.clone();
    let abandoning = tokio::spawn(async move { core.record_abandoned().await });
    world.store.holding.notified().await;

    world.finish(running).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(
        world
            .records()
            .iter()
            .all(|record| record.status == RunStatus::Interrupted),
        "it waits for the put"
    );
    held.notify_one();
    assert_eq!(abandoning.await.unwrap(), 1);
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn ended_run_is_not_recorded_as_abandoned() {
    let world = Arc::new(world(vec![Move::SayWhenReleased("done after all")]));
    let (_, running) = under_way(&world, "hello").await;
    assert!(!world.core.drain(Duration::from_secs(1)).await);
    world
        .store
        .failures
        .lock()
        .unwrap()
        .push_back(StoreErrorKind::Transient);
    let core = world.core.clone();
    let abandoning = tokio::spawn(async move { core.record_abandoned().await });
    while !world.store.failures.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    world.finish(running).await;
    assert_eq!(abandoning.await.unwrap(), 0);
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn view_token_is_in_the_ledger_only() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (io, running) = under_way(&first, "hello").await;
    let id = io.started()[0].clone();
    let token = first.core.registry().get(&id).unwrap().token;
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();

    let second = ledger.process("g2", vec![Move::SayWhenReleased("done")]);
    let keeping = second.keep_ledger();
    second.model.called.notified().await;
    assert!(second.core.registry().open(&id, &token).is_some());
    second.model.release.notify_one();
    let record = ledger.recorded().await;
    keeping.abort();
    let record = serde_json::to_string(&record).unwrap();
    assert!(!record.contains(&token));
}

#[tokio::test(start_paused = true)]
async fn ledger_claim_is_a_span() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("hi")]);
    world.ask("hello").await;
    let events = ledger.records.lock().unwrap()[0].events.clone();
    let of_claim = events
        .iter()
        .filter(|event| event["name"] == "dispatch.ledger_claim");
    assert_eq!(of_claim.count(), 2, "its start and its end");
}
