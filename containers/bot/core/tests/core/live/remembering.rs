//! The part in memory of a run that outlasts its process.

use std::{sync::Arc, time::Duration};

use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::begin;
use crate::{
    memory::support::Stores,
    support::{Collector, Move, Reopening, ScriptedLedger, World, world_with},
};

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
    let channels = Arc::new(Reopening(Arc::new(Collector::default())));
    let capabilities = Capabilities { memory: Some(memory), ..ledger.capability(generation, channels) };
    Arc::new(world_with(moves, capabilities))
}

#[tokio::test(start_paused = true)]
async fn a_run_is_reflected_on_where_it_ends_without_what_it_was_told_of_memory() {
    let (ledger, stores) = (Arc::new(ScriptedLedger::default()), Arc::new(Stores::default()));
    stores.remember("user:http:ann", &[TOLD]).await;
    let step = Move::Ask(vec![("list_files", json!({}))]);
    let first = process(&ledger, "g1", &stores, vec![step, Move::HangUntilStopped]);
    let (_, running) = begin(&first, "agent:coding repo:acme/app how is the build run?");
    first.model.called.notified().await;
    first.model.called.notified().await;
    assert!(first.model.system.lock().unwrap().contains(TOLD));
    assert!(first.core.drain(Duration::from_secs(60)).await);
    running.await.unwrap();
    assert!(stores.called("Write").is_empty());

    let findings =
        r#"{"facts": [{"text": "the app has no tests yet", "confidence": 0.9, "audience": "user"}]}"#;
    let answer = Move::Say("As you know, the build of the app is run by make check.");
    let second = process(&ledger, "g2", &stores, vec![answer, Move::Say(findings)]);
    let (keeper, end) = (second.core.clone(), CancellationToken::new());
    let keeping = tokio::spawn({
        let end = end.clone();
        async move { keeper.keep_ledger(end).await }
    });
    ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty()).await;
    while second.core.load().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    end.cancel();
    keeping.await.unwrap();
    assert_eq!(stores.called("Write"), ["user:http:ann"]);
    assert!(stores.texts("user:http:ann").await.contains(&"the app has no tests yet".to_owned()));
    let reflection = format!("{:?}", second.model.seen.lock().unwrap()[1]);
    assert!(reflection.contains("As you know, [a note]"), "{reflection}");
}
