//! What a run that outlasts its process has cost and measured (`ars_agent::money`, `context::limit`), and what processes
//! that share a day leave to each other.

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

use super::begin;
use crate::{
    memory::support::Stores,
    support::{Collector, Fault, Move, Reopening, ScriptedLedger, World, world_of},
};

/// Each scripted call takes 1,000 tokens in and 100 out: at these prices 4,500 micro-dollars.
const PRICE: Price =
    Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
const CALL: u64 = 4_500;
const REQUEST: &str = "agent:coding repo:acme/app look";

fn process(ledger: &Arc<ScriptedLedger>, generation: &str, moves: Vec<Move>) -> Arc<World> {
    let channels = Arc::new(Reopening(Arc::new(Collector::default())));
    equipped(ledger.capability(generation, channels), moves)
}

fn equipped(capabilities: Capabilities, moves: Vec<Move>) -> Arc<World> {
    let priced = |mut settings: Settings| {
        settings.prices.insert(&ModelRef::parse("scripted/m").unwrap(), PRICE);
        settings.prices.insert(&ModelRef::parse("scripted/second").unwrap(), PRICE);
        settings.money = MoneyCaps { run: Some(9 * CALL), day: Some(9 * CALL) };
        settings
    };
    Arc::new(world_of(moves, capabilities, priced).with_tree())
}

fn look() -> Move {
    Move::Ask(vec![("list_files", json!({}))])
}

/// A run with one step stored, left in the middle of its second call.
async fn left() -> Arc<ScriptedLedger> {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = process(&ledger, "g1", vec![look(), Move::HangUntilStopped]);
    let (_, running) = begin(&first, REQUEST);
    first.model.called.notified().await;
    first.model.called.notified().await;
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    ledger
}

/// What is said to a request of another thread.
async fn elsewhere(world: &World) -> String {
    let io: Arc<Collector> = Arc::default();
    let mut message = crate::support::message("hello");
    message.thread_key = ars_types::ThreadKey::new("http", "default", "other");
    let channel: Arc<Collector> = Arc::clone(&io);
    world.core.dispatch(message, channel).await;
    io.replies.lock().unwrap()[0].clone()
}

/// What the one live run holds of the day.
fn held(ledger: &ScriptedLedger) -> Value {
    ledger.runs().values().next().unwrap().row.meta["holdMicroUsd"].clone()
}

/// What its last step says of the loop.
fn saved(ledger: &ScriptedLedger) -> Value {
    let runs = ledger.runs();
    let kept = runs.values().next().unwrap();
    kept.steps.values().last().unwrap().extra["loop"].clone()
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_counted_and_what_was_paid_are_kept_from_process_to_process() {
    let ledger = left().await;
    let before = saved(&ledger);
    assert!(before["measure"]["reported"].as_u64() >= Some(1_000), "{before}");
    // The call that was answered, and what the one that was cut off had sent.
    assert!(before["spent"]["microusd"].as_u64() > Some(CALL), "{before}");
    let second = process(&ledger, "g2", vec![Move::HangUntilStopped]);
    let keeping = second.keep_ledger();
    second.model.called.notified().await;
    assert!(second.core.drain(Duration::from_secs(60)).await);
    keeping.abort();
    let after = saved(&ledger);
    assert_eq!((&after["measure"], &after["limits"]), (&before["measure"], &before["limits"]));
    assert!(after["spent"]["microusd"].as_u64() > before["spent"]["microusd"].as_u64());
}

#[tokio::test(start_paused = true)]
async fn a_run_taken_over_holds_its_cap_of_the_day() {
    let ledger = left().await;
    let second = process(&ledger, "g2", vec![Move::HangUntilStopped]);
    let keeping = second.keep_ledger();
    second.model.called.notified().await;
    let reply = elsewhere(&second).await;
    assert!(reply.starts_with('💸') && reply.contains("under way"), "{reply}");
    assert!(second.core.drain(Duration::from_secs(60)).await);
    keeping.abort();
}

#[tokio::test(start_paused = true)]
async fn a_run_taken_over_holds_its_cap_of_the_day_while_it_is_made_ready() {
    let ledger = left().await;
    ledger.script("transcript.read", [Fault::Hang]);
    let second = process(&ledger, "g2", Vec::new());
    let keeping = second.keep_ledger();
    ledger.until(|ledger| ledger.count("transcript.read") > 0).await;
    let reply = elsewhere(&second).await;
    assert!(reply.starts_with('💸') && reply.contains("under way"), "{reply}");
    keeping.abort();
}

/// Another process takes the one run over, which cannot go on, and closes it.
async fn closed(ledger: &Arc<ScriptedLedger>) -> Arc<World> {
    let second = process(ledger, "g2", Vec::new());
    second.end_what_is_left(ledger).await;
    second
}

#[tokio::test(start_paused = true)]
async fn a_run_that_died_has_cost_the_day_what_it_held_whatever_its_steps_say() {
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
            (record.extra.contains_key(COST), &record.extra[RESERVED_COST]),
            (has_step, &json!(9 * CALL))
        );
        let reply = elsewhere(&second).await;
        assert!(reply.starts_with('💸') && reply.contains("used up"), "{reply}");
        let third = process(&ledger, "g3", Vec::new());
        third.store.puts.lock().unwrap().push(record);
        assert_eq!(elsewhere(&third).await, reply, "where only the record is known");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_its_process_left_in_good_order_has_cost_what_its_steps_say() {
    let ledger = left().await;
    let spent = saved(&ledger)["spent"]["microusd"].clone();
    ledger.runs().values_mut().for_each(|kept| kept.row.stop = Some(StopMode::Hard));
    let second = closed(&ledger).await;
    second.model.moves.lock().unwrap().push_back(Move::Say("there is some left"));
    assert_eq!(elsewhere(&second).await, "there is some left");
    let record = ledger.records.lock().unwrap()[0].clone();
    assert_eq!((&record.extra[COST], record.extra.contains_key(RESERVED_COST)), (&spent, false));
}

#[tokio::test(start_paused = true)]
async fn the_closing_record_of_a_run_tells_what_its_stored_steps_had_cost() {
    let ledger = left().await;
    let spent = saved(&ledger)["spent"]["microusd"].clone();
    for kept in ledger.runs().values_mut() {
        kept.row.phase = Phase::Finishing;
        kept.row.state.insert("finalStatus".into(), json!("completed"));
        kept.row.state.insert("replied".into(), json!(true));
    }
    let second = process(&ledger, "g2", Vec::new());
    let keeping = second.keep_ledger();
    ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty()).await;
    keeping.abort();
    assert_eq!(ledger.records.lock().unwrap()[0].extra[COST], spent);
}

#[tokio::test]
async fn a_run_under_way_in_another_process_holds_its_part_of_the_day() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = process(&ledger, "g1", vec![Move::SayWhenTold("one")]);
    let (_, running) = begin(&first, "hello");
    first.model.called.notified().await;
    assert_eq!(held(&ledger), 9 * CALL);
    let second = process(&ledger, "g2", Vec::new());
    let reply = elsewhere(&second).await;
    assert!(reply.starts_with('💸') && reply.contains("under way"), "{reply}");
    // For a moment the rows are taken as read.
    assert_eq!(elsewhere(&second).await, reply);
    assert_eq!(ledger.count("live"), 2, "once by each process");
    first.model.go_on.notify_one();
    running.await.unwrap();
    first.settle().await;
    assert_eq!(elsewhere(&process(&ledger, "g3", vec![Move::Say("three")])).await, "three");
}

#[tokio::test]
async fn a_run_that_was_given_up_holds_its_part_of_the_day_until_it_is_closed() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = process(&ledger, "g1", vec![Move::SayWhenTold("one")]);
    let (io, running) = begin(&world, "hello");
    world.model.called.notified().await;
    // The ledger has given the right to reply, and its answer was lost.
    ledger.runs().values_mut().for_each(|kept| kept.row.phase = Phase::Finishing);
    world.model.go_on.notify_one();
    running.await.unwrap();
    assert!(io.replies.lock().unwrap().is_empty());
    let reply = elsewhere(&world).await;
    assert!(reply.starts_with('💸') && reply.contains("under way"), "{reply}");
}

#[tokio::test]
async fn a_run_of_another_process_that_says_no_hold_may_spend_everything() {
    let ledger = left().await;
    for kept in ledger.runs().values_mut() {
        kept.row.meta.remove("holdMicroUsd");
    }
    let second = process(&ledger, "g2", Vec::new());
    let reply = elsewhere(&second).await;
    assert!(reply.starts_with('💸') && reply.contains("under way"), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn without_the_ledgers_answer_nothing_begins_where_a_day_is_capped() {
    for (kind, is_begun) in [(StoreErrorKind::Permanent, false), (StoreErrorKind::RouteMissing, true)] {
        let ledger = Arc::new(ScriptedLedger::default());
        let world = process(&ledger, "g1", vec![Move::Say("one")]);
        ledger.script("live", [Fault::Fail(kind)]);
        let reply = elsewhere(&world).await;
        assert_eq!(reply == "one", is_begun, "{kind:?}: {reply}");
        assert_eq!(reply.contains("not known"), !is_begun, "{kind:?}: {reply}");
    }
}

#[tokio::test]
async fn what_a_reflection_costs_is_spent_of_the_day() {
    let ledger = Arc::new(ScriptedLedger::default());
    let memory = MemoryDeps {
        store: Arc::new(Stores::default()),
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    let channels = Arc::new(Reopening(Arc::new(Collector::default())));
    let capabilities = Capabilities { memory: Some(memory), ..ledger.capability("g1", channels) };
    let moves = vec![look(), Move::Say("done"), Move::Say("{}"), Move::SayWhenTold("again")];
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
    world.model.go_on.notify_one();
    running.await.unwrap();
}
