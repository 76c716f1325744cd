//! Money: the caps of a run and of a day, and what is told of it.

use ars_agent::money::Price;
use ars_bot_core::{
    Capabilities,
    ports::StoreErrorKind,
    settings::{MoneyCaps, Settings},
};
use ars_types::{ModelRef, RunStatus};
use serde_json::json;

use crate::support::{Move, World, world_of};

/// Each scripted call takes 1,000 tokens in and 100 out: at these prices 4,500 micro-dollars.
const PRICE: Price =
    Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
const CALL: u64 = 4_500;

fn priced(moves: Vec<Move>, money: MoneyCaps) -> World {
    world_of(moves, Capabilities::default(), |mut settings: Settings| {
        settings.prices.insert(&ModelRef::parse("scripted/m").unwrap(), PRICE);
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
}

#[tokio::test]
async fn a_run_that_reaches_its_cap_ends_in_its_own_words() {
    let money = MoneyCaps { run: Some(3 * CALL), day: None };
    let world = priced(vec![look(), look(), Move::Say("so far")], money);
    let io = world.ask("agent:coding repo:acme/app look").await;
    let reply = io.replies.lock().unwrap()[0].clone();
    assert!(reply.ends_with("so far") && reply.contains('$'), "{reply}");
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test]
async fn without_a_price_a_capped_run_asks_no_model() {
    let world = world_of(Vec::new(), Capabilities::default(), |mut settings| {
        settings.money.run = Some(1_000_000);
        settings
    });
    world.ask("hello").await;
    assert!(world.model.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_day_whose_money_is_spent_begins_no_further_run() {
    let money = MoneyCaps { run: None, day: Some(CALL + 1) };
    let world = priced(vec![Move::Say("one")], money);
    world.ask("hello").await;
    let io = world.ask("again").await;
    // The first run left less than another call costs, but something: it begins, and asks nothing.
    assert!(io.replies.lock().unwrap()[0].contains('$'));
    assert_eq!(world.model.seen.lock().unwrap().len(), 1);
    let money = MoneyCaps { run: None, day: Some(CALL) };
    let world = priced(vec![Move::Say("one")], money);
    world.ask("hello").await;
    let io = world.ask("again").await;
    assert!(io.replies.lock().unwrap()[0].starts_with('💸'));
    assert!(io.started.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_day_whose_costs_are_not_known_begins_nothing() {
    let world = priced(Vec::new(), MoneyCaps { run: None, day: Some(1_000_000) });
    *world.store.down.lock().unwrap() = Some(StoreErrorKind::Transient);
    let io = world.ask("hello").await;
    assert!(io.replies.lock().unwrap()[0].starts_with('💸'));
}
