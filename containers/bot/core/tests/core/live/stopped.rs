//! Stops that were acknowledged during a ledger outage.

use std::{sync::Arc, time::Duration};

use ars_auth::{Grants, Set, Viewer};
use ars_bot_core::queries::{QueryError, Reader};
use ars_bot_ports::StoreErrorKind;
use ars_events::{Actor, ActorKind};
use ars_types::{Generation, RunId, RunStatus, StopMode};

use super::world_of;
use crate::support::*;

/// More requests than are made before the ledger answers again.
const OUTAGE: usize = 6;
/// Longer than any test.
const LONG: Duration = Duration::from_secs(300);

/// Stops a run with an operator's permission.
async fn stop(world: &World, id: &RunId) -> Result<(), QueryError> {
    let grants = Grants {
        actions: Set::only(&["runs:write"]),
        channels: Set::All,
        ..Grants::default()
    };
    let viewer = Viewer::new(ars_auth::Actor::browser("access:ops").with(&grants));
    let reader = Reader {
        viewer: &viewer,
        token: "",
        route: "test",
    };
    let actor = Actor {
        kind: ActorKind::Access,
        id: "access:ops".into(),
    };
    world
        .core
        .queries()
        .stop_as(&reader, id, StopMode::Soft, actor)
        .await
}

/// A run in the first model call.
async fn under_way(world: &Arc<World>) -> RunId {
    let (io, _running) = begin(world, "hello");
    world.model.called.notified().await;
    io.started()[0].clone()
}

#[tokio::test(start_paused = true)]
async fn unrecorded_stop_reaches_the_new_owner() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped]);
    let id = under_way(&world).await;
    ledger.script("stop", [Fault::Fail(StoreErrorKind::Transient); OUTAGE]);
    ledger.runs().get_mut(&id).unwrap().row.owner_gen = Generation::parse("g2").unwrap();
    assert_eq!(stop(&world, &id).await, Ok(()));
    let keeping = world.keep_ledger();
    let is_told = ledger.until(|ledger| ledger.runs()[&id].row.stop == Some(StopMode::Soft));
    tokio::time::timeout(LONG, is_told).await.unwrap();
    let actor = ledger.runs()[&id].stop_actor.clone();
    assert_eq!(actor.map(|actor| actor.id), Some("access:ops".to_owned()));
    assert!(
        world.core.registry().get(&id).is_none(),
        "the process heard before that it has lost the run"
    );
    keeping.abort();
}

/// The stop came from another process, through the ledger.
#[tokio::test(start_paused = true)]
async fn relayed_stop_names_its_actor() {
    let ledger = Arc::new(ScriptedLedger::default());
    let world = world_of(&ledger, vec![Move::HangUntilStopped]);
    let id = under_way(&world).await;
    {
        let mut runs = ledger.runs();
        let kept = runs.get_mut(&id).unwrap();
        kept.row.stop = Some(StopMode::Soft);
        kept.stop_actor = Some(Actor::new(ActorKind::Access, "access:ops"));
    }
    let keeping = world.keep_ledger();
    let is_over = ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty());
    tokio::time::timeout(LONG, is_over).await.unwrap();
    let record = serde_json::to_string(&ledger.records.lock().unwrap()[0]).unwrap();
    assert!(
        record.contains(r#""actor":{"kind":"access","id":"access:ops"}"#),
        "{record}"
    );
    keeping.abort();
}

#[tokio::test(start_paused = true)]
async fn stop_during_a_reclaim_is_kept() {
    let ledger = Arc::new(ScriptedLedger::default());
    let first = world_of(&ledger, vec![Move::HangUntilStopped]);
    let id = under_way(&first).await;
    assert!(first.core.drain(LONG).await);

    let channels = Arc::new(ReopenedChannel(Arc::new(RecordingChannel::default())));
    // A model that hangs, so that only a stop ends the run.
    let second = world_with(
        vec![Move::HangUntilStopped],
        ledger.capability("g2", channels),
    );
    ledger.script("state", [Fault::Fail(StoreErrorKind::Transient); OUTAGE]);
    ledger.script(
        "stop",
        [Fault::Fail(StoreErrorKind::Transient); 10 * OUTAGE],
    );
    let asked = ledger.count("state");
    let keeping = second.keep_ledger();
    ledger.until(|ledger| ledger.count("state") > asked).await;
    assert_eq!(stop(&second, &id).await, Ok(()));
    let is_over = ledger.until(|ledger| !ledger.records.lock().unwrap().is_empty());
    tokio::time::timeout(LONG, is_over).await.unwrap();
    assert_eq!(
        ledger.records.lock().unwrap()[0].status,
        RunStatus::StoppedSoft
    );
    keeping.abort();
}
