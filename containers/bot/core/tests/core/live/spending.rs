//! Cost and usage when a run outlasts the process, and a day's budget shared by processes.

use std::{sync::Arc, time::Duration};

use ars_agent::money::Price;
use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::StoreErrorKind;
use ars_runs::{COST, RESERVED_COST};
use ars_types::{ModelRef, StopMode};
use ars_wire::ledger::Phase;
use serde_json::{Value, json};

use crate::{memory::support::Stores, support::*};

/// Each scripted call takes 1,000 tokens in and 100 out: at these prices 4,500 micro-dollars.
const PRICE: Price = Price {
    input: 3_000_000,
    output: 15_000_000,
    cache_read: 300_000,
    cache_write: 3_750_000,
};
const CALL: u64 = 4_500;
const REQUEST: &str = "agent:coding repo:acme/app look";

fn process(ledger: &Arc<ScriptedLedger>, generation: &str, moves: Vec<Move>) -> Arc<World> {
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    equipped(ledger.capability(generation, channels), moves)
}

fn equipped(capabilities: Capabilities, moves: Vec<Move>) -> Arc<World> {
    let priced = |mut settings: Settings| {
        settings
            .prices
            .insert(&ModelRef::parse("scripted/m").unwrap(), PRICE);
        settings
            .prices
            .insert(&ModelRef::parse("scripted/second").unwrap(), PRICE);
        settings.money = MoneyCaps {
            run: Some(9 * CALL),
            day: Some(9 * CALL),
        };
        settings
    };
    Arc::new(world_of(moves, capabilities, priced).with_tree())
}

fn look() -> Move {
    Move::Ask(vec![("list_files", json!({}))])
}

/// A run with a stored step, killed during the second call.
async fn left() -> Arc<ScriptedLedger> {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = process(&ledger, "g1", vec![look(), Move::HangUntilStopped]);
    let (_, running) = under_way(&first, REQUEST).await;
    first.model.called.notified().await;
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    ledger
}

/// Returns the reply to a request in another thread.
async fn elsewhere(world: &World) -> String {
    let io: Arc<RecordingChannel> = Arc::default();
    let mut message = crate::support::message("hello");
    message.thread_key = ars_types::ThreadKey::new(ars_types::Platform::Http, "default", "other");
    let channel: Arc<RecordingChannel> = Arc::clone(&io);
    world.core.dispatch(message, channel).await;
    io.said()[0].clone()
}

/// Fails unless a run was rejected because live runs have reserved the rest of the day.
#[track_caller]
fn assert_is_reserved(reply: &str) {
    assert!(
        reply.starts_with('💸') && reply.contains("reserved"),
        "{reply}"
    );
}

/// Returns the only live run's reservation.
fn held(ledger: &ScriptedLedger) -> Value {
    ledger.runs().values().next().unwrap().row.meta["holdMicroUsd"].clone()
}

/// Returns the loop's state in the last step.
fn saved(ledger: &ScriptedLedger) -> Value {
    let runs = ledger.runs();
    let kept = runs.values().next().unwrap();
    kept.steps.values().last().unwrap().extra["loop"].clone()
}

#[tokio::test(start_paused = true)]
async fn usage_and_cost_survive_a_resume() {
    let ledger = left().await;
    let before = saved(&ledger);
    assert!(
        before["measure"]["reported"].as_u64() >= Some(1_000),
        "{before}"
    );
    // The answered call, and the interrupted call's input.
    assert!(
        before["spent"]["microusd"].as_u64() > Some(CALL),
        "{before}"
    );
    let second = process(&ledger, "g2", vec![Move::HangUntilStopped]);
    let keeping = second.keep_ledger();
    second.model.called.notified().await;
    assert!(second.core.drain(Duration::from_secs(60)).await);
    keeping.abort();
    let after = saved(&ledger);
    assert_eq!(
        (&after["measure"], &after["limits"]),
        (&before["measure"], &before["limits"])
    );
    assert!(after["spent"]["microusd"].as_u64() > before["spent"]["microusd"].as_u64());
}

#[tokio::test(start_paused = true)]
async fn reclaimed_run_reserves_its_cap() {
    for is_prepared in [true, false] {
        let ledger = left().await;
        if !is_prepared {
            ledger.script("transcript.read", [Fault::Hang]);
        }
        let second = process(&ledger, "g2", vec![Move::HangUntilStopped]);
        let keeping = second.keep_ledger();
        ledger
            .until(|ledger| ledger.count("transcript.read") > 0)
            .await;
        if is_prepared {
            second.model.called.notified().await;
        }
        assert_is_reserved(&elsewhere(&second).await);
        keeping.abort();
    }
}

/// Another process reclaims the run, cannot resume it, and closes it.
async fn closed(ledger: &Arc<ScriptedLedger>) -> Arc<World> {
    let second = process(ledger, "g2", Vec::new());
    second.end_what_is_left(ledger).await;
    second
}

#[tokio::test(start_paused = true)]
async fn dead_run_costs_its_reservation() {
    for has_step in [false, true] {
        let ledger = left().await;
        for kept in ledger.runs().values_mut() {
            kept.row.phase = Phase::Live;
            kept.row.stop = Some(StopMode::Hard);
            if !has_step {
                kept.steps.clear();
            }
        }
        let second = closed(&ledger).await;
        let record = ledger.records.lock().unwrap()[0].clone();
        assert_eq!(
            (
                record.extra.contains_key(COST),
                &record.extra[RESERVED_COST]
            ),
            (has_step, &json!(9 * CALL))
        );
        let reply = elsewhere(&second).await;
        assert!(
            reply.starts_with('💸') && reply.contains("used up"),
            "{reply}"
        );
        let third = process(&ledger, "g3", Vec::new());
        third.store.puts.lock().unwrap().push(record);
        assert_eq!(
            elsewhere(&third).await,
            reply,
            "where only the record is known"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn handed_off_run_costs_its_stored_steps() {
    let ledger = left().await;
    let spent = saved(&ledger)["spent"]["microusd"].clone();
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.row.stop = Some(StopMode::Hard));
    let second = closed(&ledger).await;
    second
        .model
        .moves
        .lock()
        .unwrap()
        .push_back(Move::Say("there is some left"));
    assert_eq!(elsewhere(&second).await, "there is some left");
    let record = ledger.records.lock().unwrap()[0].clone();
    assert_eq!(
        (
            &record.extra[COST],
            record.extra.contains_key(RESERVED_COST)
        ),
        (&spent, false)
    );
}

#[tokio::test(start_paused = true)]
async fn closing_record_has_the_stored_cost() {
    let ledger = left().await;
    let spent = saved(&ledger)["spent"]["microusd"].clone();
    for kept in ledger.runs().values_mut() {
        kept.row.phase = Phase::Finishing;
        kept.row
            .state
            .insert("finalStatus".into(), json!("completed"));
        kept.row.state.insert("replied".into(), json!(true));
    }
    let second = process(&ledger, "g2", Vec::new());
    let keeping = second.keep_ledger();
    ledger.recorded().await;
    keeping.abort();
    assert_eq!(ledger.records.lock().unwrap()[0].extra[COST], spent);
}

#[tokio::test]
async fn foreign_run_reserves_its_part() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = process(&ledger, "g1", vec![Move::SayWhenReleased("one")]);
    let (_, running) = under_way(&first, "hello").await;
    assert_eq!(held(&ledger), 9 * CALL);
    let second = process(&ledger, "g2", Vec::new());
    let reply = elsewhere(&second).await;
    assert_is_reserved(&reply);
    // The rows are cached for a moment.
    assert_eq!(elsewhere(&second).await, reply);
    assert_eq!(ledger.count("live"), 2, "once by each process");
    first.finish(running).await;
    first.settle().await;
    assert_eq!(
        elsewhere(&process(&ledger, "g3", vec![Move::Say("three")])).await,
        "three"
    );
}

#[tokio::test]
async fn fenced_out_run_reserves_until_closed() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::SayWhenReleased("one")]);
    let (io, running) = under_way(&world, "hello").await;
    // The ledger granted the reply permit, and the response was lost.
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.row.phase = Phase::Finishing);
    world.finish(running).await;
    assert!(io.said().is_empty());
    let reply = elsewhere(&world).await;
    assert_is_reserved(&reply);
}

#[tokio::test]
async fn foreign_run_without_reservation_reserves_all() {
    let ledger = left().await;
    for kept in ledger.runs().values_mut() {
        kept.row.meta.remove("holdMicroUsd");
    }
    let second = process(&ledger, "g2", Vec::new());
    let reply = elsewhere(&second).await;
    assert_is_reserved(&reply);
}

#[tokio::test(start_paused = true)]
async fn capped_day_needs_the_ledger() {
    for (kind, is_begun) in [
        (StoreErrorKind::Permanent, false),
        (StoreErrorKind::RouteMissing, true),
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        let world = process(&ledger, "g1", vec![Move::Say("one")]);
        ledger.script("live", [Fault::Fail(kind)]);
        let reply = elsewhere(&world).await;
        assert_eq!(reply == "one", is_begun, "{kind:?}: {reply}");
        assert_eq!(
            reply.contains("not available"),
            !is_begun,
            "{kind:?}: {reply}"
        );
    }
}

#[tokio::test]
async fn reflection_cost_counts_for_the_day() {
    let ledger = Arc::new(ScriptedLedger::default());
    let memory = MemoryDeps {
        store: Arc::new(Stores::default()),
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let capabilities = Capabilities {
        memory: Some(memory),
        ..ledger.capability("g1", channels)
    };
    let moves = vec![
        look(),
        Move::Say("done"),
        Move::Say("{}"),
        Move::SayWhenReleased("again"),
    ];
    let world = equipped(capabilities, moves);
    let (_, first) = begin(&world, REQUEST);
    first.await.unwrap();
    while world.core.load().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    let (_, running) = begin(&world, "hello");
    while world.model.seen.lock().unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(held(&ledger), 6 * CALL);
    world.finish(running).await;
}
