//! The memory part of a run that outlasts the process.

use std::{sync::Arc, time::Duration};

use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
};
use ars_bot_ports::StoreErrorKind;
use ars_types::Generation;
use serde_json::json;

use crate::{memory::support::Stores, support::*};

const TOLD: &str = "the build of the app is run by make check";

fn process(
    ledger: &Arc<ScriptedLedger>,
    generation: &str,
    stores: &Arc<Stores>,
    moves: Vec<Move>,
) -> Arc<World> {
    let memory = MemoryDeps {
        store: Arc::<Stores>::clone(stores),
        organization: None,
        budget: Budget::default(),
        model: None,
    };
    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    let capabilities = Capabilities {
        memory: Some(memory),
        ..ledger.capability(generation, channels)
    };
    Arc::new(world_with(moves, capabilities).with_tree())
}

#[tokio::test(start_paused = true)]
async fn final_owner_reflects_without_the_memory_block() {
    let (ledger, stores) = (
        Arc::new(ScriptedLedger::default()),
        Arc::new(Stores::default()),
    );
    stores.remember("user:http:ann", &[TOLD]).await;
    let step = Move::Ask(vec![("list_files", json!({}))]);
    let first = process(&ledger, "g1", &stores, vec![step, Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "agent:coding repo:acme/app how is the build run?").await;
    first.model.called.notified().await;
    assert!(first.model.system.lock().unwrap().contains(TOLD));
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert!(stores.called("Write").is_empty());

    let findings = r#"{"facts": [{"text": "the app has no tests yet", "confidence": 0.9, "audience": "user"}]}"#;
    let answer = Move::Say("As you know, the build of the app is run by make check.");
    let second = process(&ledger, "g2", &stores, vec![answer, Move::Say(findings)]);
    second.end_what_is_left(&ledger).await;
    assert_eq!(stores.called("Write"), ["user:http:ann"]);
    assert!(
        stores
            .texts("user:http:ann")
            .await
            .contains(&"the app has no tests yet".to_owned())
    );
    let reflection = format!("{:?}", second.model.seen.lock().unwrap()[1]);
    assert!(reflection.contains("As you know, [a note]"), "{reflection}");
}

#[tokio::test(start_paused = true)]
async fn fenced_out_process_does_not_reflect() {
    let (ledger, stores) = (
        Arc::new(ScriptedLedger::default()),
        Arc::new(Stores::default()),
    );
    let step = Move::Ask(vec![("list_files", json!({}))]);
    let world = process(
        &ledger,
        "g1",
        &stores,
        vec![step, Move::Say("done"), Move::Say("{}")],
    );
    ledger.script("finish", [Fault::Fail(StoreErrorKind::Transient)]);
    let (_, running) = begin(&world, "agent:coding repo:acme/app look");
    ledger.until(|ledger| ledger.count("finish") == 1).await;
    let other = Generation::parse("g2").unwrap();
    ledger
        .runs()
        .values_mut()
        .for_each(|kept| kept.row.owner_gen = other.clone());
    running.await.unwrap();
    world.settle().await;
    assert_eq!(ledger.count("finish"), 2);
    assert_eq!(
        world.model.seen.lock().unwrap().len(),
        2,
        "no call but the run's own"
    );
}

#[tokio::test(start_paused = true)]
async fn handoff_does_not_make_a_chat_reflect() {
    let (ledger, stores) = (
        Arc::new(ScriptedLedger::default()),
        Arc::new(Stores::default()),
    );
    let first = process(&ledger, "g1", &stores, vec![Move::HangUntilStopped]);
    let (_, running) = under_way(&first, "hello").await;
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();

    let second = process(
        &ledger,
        "g2",
        &stores,
        vec![Move::Say("hello yourself"), Move::Say("{}")],
    );
    second.end_what_is_left(&ledger).await;
    assert_eq!(
        second.model.seen.lock().unwrap().len(),
        1,
        "no call but the run's own"
    );
}
