//! Preparing a run that is already created.

use std::sync::Arc;

use ars_bot_core::commands::Caller;
use ars_commands::RawInput;
use ars_types::RunStatus;
use serde_json::{Map, Value, json};

use super::{say, world_of};
use crate::support::*;

const SLOW: &str = "agent:coding repo:acme/slow x";

#[tokio::test]
async fn run_is_claimed_before_its_tree_is_opened() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, Vec::new());
    let (io, running) = begin(&world, SLOW);
    world.workspace.opening.notified().await;
    let started = io.started().clone();
    assert_eq!(ledger.runs().keys().cloned().collect::<Vec<_>>(), started);
    world.workspace.give_up.notify_one();
    running.await.unwrap();
    world.settle().await;
    assert!(io.said()[0].contains("hung up"));
    let record = ledger.records.lock().unwrap().pop().unwrap();
    assert_eq!(
        (record.id.clone(), record.status),
        (started[0].clone(), RunStatus::Failed)
    );
}

#[tokio::test]
async fn hard_stop_cancels_a_clone() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, Vec::new());
    let (io, running) = begin(&world, SLOW);
    world.workspace.opening.notified().await;
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
    assert!(io.said().is_empty());
    let record = ledger.records.lock().unwrap().pop().unwrap();
    assert_eq!(record.status, RunStatus::StoppedHard);
    let told = outline(&record);
    assert_eq!(
        told,
        [
            "input",
            "run_note stop_requested",
            "run_meta",
            "run_note stopped"
        ]
    );
}

#[tokio::test]
async fn failed_preparation_requeues_follow_ups() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::Say("answered all the same")]);
    let (_, running) = begin(&world, SLOW);
    world.workspace.opening.notified().await;
    // The follow-up is for the coding agent, and the thread's tree cannot be opened.
    let second = say(&world, "repo:acme/app and this").await;
    assert!(second.said()[0].starts_with('↪'));
    world.workspace.give_up.notify_one();
    running.await.unwrap();
    world.settle().await;
    assert_eq!(second.said()[1..], ["answered all the same"]);
}

#[tokio::test(start_paused = true)]
async fn run_resumed_before_its_first_flush_has_its_input() {
    let ledger = Arc::new(ScriptedLedger::default());
    // No flush runs here.
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "hello").await;
    running.abort();
    assert!(
        ledger
            .runs()
            .values()
            .all(|kept| kept.events.is_empty() && !kept.steps.is_empty())
    );

    let second = ledger.process("g2", vec![Move::Say("hi")]);
    let keeping = second.keep_ledger();
    ledger.recorded().await;
    keeping.abort();
    let record = ledger.records.lock().unwrap()[0].clone();
    assert_eq!(outline(&record)[0], "input");
    let seqs: Vec<_> = record
        .events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    assert!(
        seqs.into_iter().eq(1..=record.event_count),
        "the ledger has them as events again"
    );
}

/// A page reader that is ahead of the stored events learns from where the seqs were given again.
#[tokio::test(start_paused = true)]
async fn page_of_a_resumed_run_names_its_restored_seq() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (io, running) = under_way(&first, "hello").await;
    let id = io.started()[0].clone();
    let page = async |world: &World| {
        let input = RawInput::Object(Map::from_iter([("id".to_owned(), json!(id))]));
        let page = world
            .core
            .commands()
            .invoke(&Caller::cli(), "runs.events", &input)
            .await;
        serde_json::from_str::<Value>(&page.unwrap().json).unwrap()
    };
    assert_eq!(page(&first).await.get("resumed"), None);
    running.abort();

    let second = ledger.process("g2", vec![Move::Say("hi")]);
    let keeping = second.keep_ledger();
    ledger.recorded().await;
    keeping.abort();
    let page = page(&second).await;
    let events = page["events"].as_array().unwrap();
    let stored = page["resumed"]["afterSeq"].as_u64().unwrap();
    assert!(0 < stored && stored < events.len() as u64, "{page}");
    let seqs: Vec<_> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect();
    let resumed_at = page["resumed"]["at"].as_i64().unwrap();
    let of_this_process = events[stored as usize]["at"].as_i64().unwrap();
    assert!(
        seqs.into_iter().eq(1..=events.len() as u64) && resumed_at <= of_this_process,
        "{page}"
    );
}

#[tokio::test]
async fn prompt_is_stored_before_the_first_step() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&world, "agent:coding repo:acme/app x").await;
    let asked = ledger.asked.lock().unwrap().clone();
    let place = |name| asked.iter().position(|asked| *asked == name).unwrap();
    assert!(
        place("state") < place("transcript.write") && place("transcript.write") < place("step")
    );
    let system = world.model.system.lock().unwrap().clone();
    assert!(
        ledger
            .runs()
            .values()
            .all(|kept| kept.row.state["system"] == system.as_str())
    );
    world.stop_hard();
    running.await.unwrap();
    world.settle().await;
}
