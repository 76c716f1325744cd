//! What reaches the ledger of a run's events when requests fail.

use std::sync::Arc;

use ars_bot_core::{
    live::Live,
    ports::{Ledger as _, StoreErrorKind},
    registry::{Registry, RunFacts, RunHandle},
    threads::Mailbox,
};
use ars_events::{EventBody, Redactor};
use ars_types::{Generation, RunId, ThreadKey, Visibility};
use ars_wire::{Moment, ledger::NewRun};
use serde_json::Map;

use crate::support::{Fault, ScriptedLedger, TickingClock};

/// More than half of what one request carries.
const MANY: usize = 20;

fn facts() -> RunFacts {
    RunFacts {
        label: "l".into(),
        agent: "general".into(),
        model: None,
        channel_id: "http:default".into(),
        user_id: "http:ann".into(),
        thread_key: ThreadKey::new("http", "default", "default"),
        visibility: Visibility::Machine,
        repo: None,
        received_at: 1,
    }
}

/// A run in the ledger, and the process's side of it. Nothing is flushed but on demand.
async fn tracked(ledger: &Arc<ScriptedLedger>) -> (RunHandle, ars_bot_core::live::Tracked) {
    let generation = Generation::parse("g1").unwrap();
    let registry = Registry::new(Arc::new(TickingClock::default()), Arc::new(Redactor::new(Vec::new())));
    let run = registry.create(RunId::parse("r1").unwrap(), facts()).unwrap();
    let claim = NewRun {
        run_id: run.id().clone(),
        thread_key: "http:default:default".into(),
        generation: generation.clone(),
        lease_ms: 30_000,
        started_at: Moment::from(1),
        meta: Map::new(),
        card: None,
        system: String::new(),
        tools: Vec::new(),
        state: None,
    };
    ledger.claim(&claim).await.unwrap();
    let live = Live::new(ledger.stores(), generation);
    let tracked = live.track(&run, &Mailbox::default(), 0);
    (run, tracked)
}

/// Publishes so much that it takes two requests.
fn publish_two_requests(run: &RunHandle) {
    for _ in 0..2 * MANY {
        run.publish(EventBody::Answer { text: "x".repeat(60_000) });
    }
}

fn stored(ledger: &ScriptedLedger) -> Vec<u64> {
    ledger.runs().values().flat_map(|kept| kept.events.keys().copied()).collect()
}

fn all(run: &RunHandle) -> Vec<u64> {
    (1..=run.last_seq()).collect()
}

#[tokio::test]
async fn events_of_a_request_that_failed_are_not_jumped_over_by_the_next_one() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    publish_two_requests(&run);
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient)]);
    tracked.last_news().await;
    assert_eq!(stored(&ledger), [] as [u64; 0], "what follows a hole is of no use yet");
    tracked.last_news().await;
    assert_eq!(stored(&ledger), all(&run));
    assert_eq!(ledger.count("flush"), 3);
}

#[tokio::test]
async fn events_are_kept_for_a_ledger_that_does_not_know_the_process_or_the_route() {
    for kind in [StoreErrorKind::Permanent, StoreErrorKind::RouteMissing, StoreErrorKind::Transient] {
        let ledger = Arc::new(ScriptedLedger::default());
        let (run, tracked) = tracked(&ledger).await;
        run.publish(EventBody::Answer { text: "kept".into() });
        ledger.script("flush", [Fault::Fail(kind)]);
        tracked.last_news().await;
        tracked.last_news().await;
        assert_eq!(stored(&ledger), all(&run), "{kind:?}");
    }
}

#[tokio::test]
async fn events_whose_content_is_refused_hold_up_no_later_ones() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    run.publish(EventBody::Answer { text: "refused".into() });
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Refused)]);
    tracked.last_news().await;
    run.publish(EventBody::Answer { text: "taken".into() });
    tracked.last_news().await;
    assert_eq!(stored(&ledger), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_handed_off_only_when_its_events_are_written_or_six_seconds_have_passed() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    run.publish(EventBody::Answer { text: "late".into() });
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); 4]);
    assert!(tracked.hand_off().await);
    assert_eq!(stored(&ledger), all(&run));

    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = super::flush::tracked(&ledger).await;
    run.publish(EventBody::Answer { text: "never".into() });
    ledger.script("flush", [Fault::Hang]);
    let began = tokio::time::Instant::now();
    assert!(tracked.hand_off().await);
    assert_eq!((began.elapsed().as_secs(), stored(&ledger).len()), (6, 0));
}
