//! Money: run and day caps, and their messages.

use std::sync::Arc;

use ars_agent::money::Price;
use ars_bot_core::{
    Capabilities,
    history::HistoryWriter,
    memory::{Budget, MemoryDeps},
    settings::{MoneyCaps, Settings},
};
use ars_bot_ports::{RunStore, StoreErrorKind};
use ars_runs::{COST, REFLECTION_COST, RunRecord};
use ars_types::{ModelRef, Platform, RunStatus, ThreadKey};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{memory::support::Stores, support::*};

/// Each scripted call takes 1,000 tokens in and 100 out: at these prices 4,500 micro-dollars.
const PRICE: Price = Price {
    input: 3_000_000,
    output: 15_000_000,
    cache_read: 300_000,
    cache_write: 3_750_000,
};
const CALL: u64 = 4_500;

fn priced(moves: Vec<Move>, money: MoneyCaps) -> World {
    priced_with(moves, Capabilities::default(), money)
}

fn priced_with(moves: Vec<Move>, capabilities: Capabilities, money: MoneyCaps) -> World {
    world_of(moves, capabilities, |mut settings: Settings| {
        settings
            .prices
            .insert(&ModelRef::parse("scripted/m").unwrap(), PRICE);
        settings.money = money;
        settings
    })
}

fn look() -> Move {
    Move::Ask(vec![("list_files", json!({}))])
}

#[tokio::test]
async fn a_record_says_what_its_run_cost() {
    let world = priced(vec![look(), Move::Say("done")], MoneyCaps::default());
    world.ask("agent:coding repo:acme/app look").await;
    assert_eq!(world.last_record().extra["costMicroUsd"], 2 * CALL);
    assert_eq!(world.core.registry().list()[0].cost, Some(2 * CALL));
}

#[tokio::test]
async fn run_at_its_cap_still_answers() {
    let money = MoneyCaps {
        run: Some(3 * CALL),
        day: None,
    };
    let world = priced(vec![look(), look(), Move::Say("so far")], money);
    let io = world.ask("agent:coding repo:acme/app look").await;
    let reply = io.said()[0].clone();
    assert!(reply.ends_with("so far") && reply.contains('$'), "{reply}");
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

/// A run with two calls in a world with memory, with this reflection.
async fn reflected_on(day: u64) -> World {
    let memory = MemoryDeps {
        store: Arc::new(Stores::default()),
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    let capabilities = Capabilities {
        memory: Some(memory),
        ..Capabilities::default()
    };
    let money = MoneyCaps {
        run: None,
        day: Some(day),
    };
    let world = priced_with(
        vec![look(), Move::Say("done"), Move::Say("{}")],
        capabilities,
        money,
    );
    world.ask("agent:coding repo:acme/app look").await;
    world
}

#[tokio::test]
async fn reflection_cost_is_recorded_separately() {
    let world = reflected_on(20 * CALL).await;
    assert_eq!(
        world.model.seen.lock().unwrap().len(),
        3,
        "it is reflected on"
    );
    let record = world.last_record();
    assert_eq!(
        (&record.extra[COST], &record.extra[REFLECTION_COST]),
        (&json!(2 * CALL), &json!(CALL))
    );
    let run = &world.core.registry().list()[0];
    assert_eq!(
        (run.cost, run.reflection_cost),
        (Some(2 * CALL), Some(CALL))
    );
    // Nothing else in the record changed.
    let written = world.records();
    let [.., before, after] = &written[..] else {
        unreachable!("a record before and one after")
    };
    assert_eq!(
        (&before.events, before.finished_at),
        (&after.events, after.finished_at)
    );
}

/// The record may be amended while the model reflects, as by an abridged diff.
#[tokio::test]
async fn reflection_cost_keeps_amendments() {
    let world = priced(vec![Move::Say("hi")], MoneyCaps::default());
    world.ask("hello").await;
    let ended = world.last_record();
    let store: Arc<dyn RunStore> = Arc::<MemoryStore>::clone(&world.store);
    let writer = HistoryWriter::new(store);
    let amend = |record: &mut RunRecord| drop(record.extra.insert("later".into(), json!(1)));
    assert!(writer.amend(&ended.id, amend).await.unwrap());
    writer.add_reflection(&ended, CALL).await;
    let record = world.last_record();
    assert_eq!(
        (&record.extra["later"], &record.extra[REFLECTION_COST]),
        (&json!(1), &json!(CALL))
    );
    // Another process's record is not changed.
    writer
        .add_reflection(
            &RunRecord {
                finished_at: 1,
                ..ended
            },
            1,
        )
        .await;
    assert_eq!(world.last_record().extra[REFLECTION_COST], CALL);
}

#[tokio::test]
async fn reflection_beyond_the_budget_is_skipped() {
    // The rest equals the reflection's cost, which was unknown before.
    let world = reflected_on(3 * CALL).await;
    assert_eq!(world.model.seen.lock().unwrap().len(), 2);
    assert!(!world.last_record().extra.contains_key(REFLECTION_COST));
}

#[tokio::test]
async fn capped_run_needs_a_price() {
    let world = world_of(Vec::new(), Capabilities::default(), |mut settings| {
        settings.money.run = Some(1_000_000);
        settings
    });
    world.ask("hello").await;
    assert!(world.model.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn spent_budget_rejects_runs() {
    let money = MoneyCaps {
        run: None,
        day: Some(CALL + 1),
    };
    let world = priced(vec![Move::Say("one")], money);
    world.ask("hello").await;
    let io = world.ask("again").await;
    // The first run left less than another call costs, so the second starts without a call.
    assert!(io.said()[0].contains('$'));
    assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    let money = MoneyCaps {
        run: None,
        day: Some(CALL),
    };
    let world = priced(vec![Move::Say("one")], money);
    world.ask("hello").await;
    let io = world.ask("again").await;
    assert!(io.said()[0].starts_with('💸'));
    assert!(io.started().is_empty());
}

#[tokio::test(start_paused = true)]
async fn unknown_spend_rejects_runs() {
    let world = priced(
        Vec::new(),
        MoneyCaps {
            run: None,
            day: Some(1_000_000),
        },
    );
    *world.store.down.lock().unwrap() = Some(StoreErrorKind::Transient);
    let io = world.ask("hello").await;
    assert!(io.said()[0].starts_with('💸'));
}

#[tokio::test]
async fn concurrent_runs_share_the_budget() {
    let money = MoneyCaps {
        run: Some(4 * CALL),
        day: Some(6 * CALL),
    };
    let moves = vec![
        Move::SayWhenReleased("one"),
        Move::SayWhenReleased("two"),
        Move::Say("three"),
    ];
    let world = priced(moves, money);
    let mut under_way = Vec::new();
    for thread in ["a", "b"] {
        under_way.push(in_thread(&world, thread));
        world.model.called.notified().await;
    }
    // The first reserves four calls and the second the other two, so a third has no budget.
    let (io, refused) = in_thread(&world, "c");
    refused.await.unwrap();
    let reply = io.said()[0].clone();
    assert!(
        reply.starts_with('💸') && reply.contains("reserved"),
        "{reply}"
    );
    for (_, run) in under_way {
        world.model.release.notify_one();
        run.await.unwrap();
    }
    world.settle().await;
    // Unspent reservations are free again.
    let (io, run) = in_thread(&world, "c");
    run.await.unwrap();
    assert_eq!(io.said(), ["three"]);
}

#[tokio::test]
async fn uncapped_run_reserves_the_rest() {
    let money = MoneyCaps {
        run: None,
        day: Some(10 * CALL),
    };
    let world = priced(vec![Move::SayWhenReleased("one"), Move::Say("two")], money);
    let first = in_thread(&world, "a");
    world.model.called.notified().await;
    let refused = in_thread(&world, "b");
    refused.1.await.unwrap();
    let reply = refused.0.said()[0].clone();
    assert!(
        reply.starts_with('💸') && reply.contains("reserved"),
        "{reply}"
    );
    world.model.release.notify_one();
    first.1.await.unwrap();
    world.settle().await;
    let second = in_thread(&world, "b");
    second.1.await.unwrap();
    assert_eq!(second.0.said(), ["two"]);
}

#[tokio::test(start_paused = true)]
async fn run_with_lost_record_is_counted() {
    let money = MoneyCaps {
        run: None,
        day: Some(CALL),
    };
    let world = priced(vec![Move::Say("one")], money);
    world
        .store
        .failures
        .lock()
        .unwrap()
        .extend([StoreErrorKind::Permanent; 8]);
    world.ask("hello").await;
    assert!(world.records().is_empty());
    world.store.failures.lock().unwrap().clear();
    let io = world.ask("again").await;
    assert!(io.said()[0].contains("used up"));
}

/// A live request in a separate thread.
fn in_thread(world: &World, thread: &str) -> (Arc<RecordingChannel>, JoinHandle<()>) {
    let io = Arc::new(RecordingChannel::default());
    let (core, as_io) = (world.core.clone(), Arc::<RecordingChannel>::clone(&io));
    let mut message = message("hello");
    message.thread_key = ThreadKey::new(Platform::Http, "default", thread);
    (
        io,
        tokio::spawn(async move { core.dispatch(message, as_io).await }),
    )
}
