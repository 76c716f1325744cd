//! Flushes a run's events to the ledger, also when requests fail.

use std::{sync::Arc, time::Duration};

use ars_bot_core::{
    live::{Live, TrackedRun},
    registry::{Registry, RunFacts, RunHandle},
    threads::Mailbox,
};
use ars_bot_ports::{Ledger as _, StoreErrorKind};
use ars_events::{EventBody, Redactor};
use ars_types::{Generation, Platform, RunId, ThreadKey, Visibility};
use ars_wire::{Moment, ledger::NewRun};
use serde_json::Map;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::support::{Fault, ScriptedLedger, TickingClock};

/// More than half of a request's bytes.
const MANY: usize = 20;
/// A run's event count that starts a flush early.
const BATCH_EVENTS: u64 = 32;

fn facts(thread: &str) -> RunFacts {
    RunFacts {
        label: "l".into(),
        agent: "general".into(),
        model: None,
        channel_id: "http:default".into(),
        user_id: "http:ann".into(),
        thread_key: ThreadKey::new(Platform::Http, "default", thread),
        visibility: Visibility::Machine,
        repo: None,
        received_at: 1,
    }
}

/// A process that flushes on demand only.
struct Process {
    ledger: Arc<ScriptedLedger>,
    live: Live,
    registry: Registry,
}

impl Process {
    fn new(ledger: &Arc<ScriptedLedger>) -> Self {
        let registry = Registry::new(
            Arc::new(TickingClock::default()),
            Arc::new(Redactor::new(Vec::new())),
        );
        let live = Live::new(ledger.stores(), Generation::parse("g1").unwrap());
        Self {
            ledger: Arc::clone(ledger),
            live,
            registry,
        }
    }

    /// Flushes from now on.
    fn flushing(&self) -> JoinHandle<()> {
        let live = self.live.clone();
        tokio::spawn(async move { live.run(CancellationToken::new()).await })
    }

    /// A run in the ledger.
    async fn claim(&self, id: &str) -> RunHandle {
        let facts = facts(id);
        let claim = NewRun {
            run_id: RunId::parse(id).unwrap(),
            thread_key: facts.thread_key.as_str().into(),
            generation: self.live.generation().clone(),
            lease_ms: 30_000,
            started_at: Moment::from(1),
            meta: Map::new(),
            card: None,
            system: String::new(),
            tools: Vec::new(),
            state: None,
            idempotency: None,
        };
        let run = self.registry.create(claim.run_id.clone(), facts).unwrap();
        self.ledger.claim(&claim).await.unwrap();
        run
    }

    /// Creates a run in the ledger, with the process's side.
    async fn track(&self, id: &str) -> (RunHandle, TrackedRun) {
        let run = self.claim(id).await;
        let tracked = self.live.track(&run, &Mailbox::default(), 0);
        (run, tracked)
    }
}

/// Creates a run in the ledger, with the process's side, flushed on demand only.
async fn tracked(ledger: &Arc<ScriptedLedger>) -> (RunHandle, TrackedRun) {
    Process::new(ledger).track("r1").await
}

/// Publishes enough events to start a flush early.
fn publish_a_batch(run: &RunHandle) {
    for _ in 0..BATCH_EVENTS {
        run.publish(EventBody::answer("x"));
    }
}

/// Publishes enough bytes for two requests.
fn publish_two_requests(run: &RunHandle) {
    for _ in 0..2 * MANY {
        run.publish(EventBody::answer("x".repeat(60_000)));
    }
}

fn stored(ledger: &ScriptedLedger) -> Vec<u64> {
    ledger
        .runs()
        .values()
        .flat_map(|kept| kept.events.keys().copied())
        .collect()
}

fn all(run: &RunHandle) -> Vec<u64> {
    (1..=run.last_seq()).collect()
}

#[tokio::test]
async fn failed_events_precede_later_ones() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    publish_two_requests(&run);
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient)]);
    tracked.final_flush().await;
    assert_eq!(
        stored(&ledger),
        [] as [u64; 0],
        "what follows a hole is of no use yet"
    );
    tracked.final_flush().await;
    assert_eq!(stored(&ledger), all(&run));
    assert_eq!(ledger.count("flush"), 3);
}

#[tokio::test]
async fn events_are_kept_for_an_outdated_ledger() {
    for kind in [
        StoreErrorKind::Permanent,
        StoreErrorKind::RouteMissing,
        StoreErrorKind::Transient,
    ] {
        let ledger = Arc::new(ScriptedLedger::default());
        let (run, tracked) = tracked(&ledger).await;
        run.publish(EventBody::answer("kept"));
        ledger.script("flush", [Fault::Fail(kind)]);
        tracked.final_flush().await;
        tracked.final_flush().await;
        assert_eq!(stored(&ledger), all(&run), "{kind:?}");
    }
}

#[tokio::test]
async fn rejected_events_do_not_block_later_ones() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    run.publish(EventBody::answer("refused"));
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Refused)]);
    tracked.final_flush().await;
    run.publish(EventBody::answer("taken"));
    tracked.final_flush().await;
    assert_eq!(stored(&ledger), [2]);
}

#[tokio::test(start_paused = true)]
async fn handoff_waits_six_seconds_for_events() {
    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = tracked(&ledger).await;
    run.publish(EventBody::answer("late"));
    ledger.script("flush", [Fault::Fail(StoreErrorKind::Transient); 4]);
    assert!(tracked.hand_off().await);
    assert_eq!(stored(&ledger), all(&run));

    let ledger = Arc::new(ScriptedLedger::default());
    let (run, tracked) = super::flush::tracked(&ledger).await;
    run.publish(EventBody::answer("never"));
    ledger.script("flush", [Fault::Hang]);
    let began = tokio::time::Instant::now();
    assert!(tracked.hand_off().await);
    assert_eq!((began.elapsed().as_secs(), stored(&ledger).len()), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn full_batch_is_flushed_at_once() {
    let ledger = Arc::new(ScriptedLedger::default());
    let process = Process::new(&ledger);
    let (run, _tracked) = process.track("r1").await;
    let flushing = process.flushing();
    // The first flush extends the lease. The gap behind it passes.
    ledger.until(|ledger| ledger.count("flush") == 1).await;
    tokio::time::advance(Duration::from_millis(251)).await;
    let began = Instant::now();
    publish_a_batch(&run);
    ledger
        .until(|ledger| stored(ledger).len() as u64 == BATCH_EVENTS)
        .await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    // A few events are batched for up to half a second.
    run.publish(EventBody::answer("few"));
    ledger
        .until(|ledger| stored(ledger).len() as u64 == BATCH_EVENTS + 1)
        .await;
    assert_eq!(began.elapsed(), Duration::from_millis(500));
    flushing.abort();
}

#[tokio::test(start_paused = true)]
async fn unconfirmed_claim_starts_the_flush() {
    let ledger = Arc::new(ScriptedLedger::default());
    let process = Process::new(&ledger);
    let flushing = process.flushing();
    // The flush has no work, and waits.
    tokio::task::yield_now().await;
    let run = process.claim("r1").await;
    run.publish(EventBody::answer("few"));
    let _claim = process.live.track_unconfirmed(&run, &Mailbox::default());
    let heard = async {
        ledger.until(|ledger| ledger.count("lease") == 1).await;
        // The answer confirms the claim.
        ledger.until(|ledger| stored(ledger) == all(&run)).await;
        // The lease is extended from then on.
        ledger.until(|ledger| ledger.count("lease") == 2).await;
    };
    tokio::time::timeout(Duration::from_secs(15), heard)
        .await
        .unwrap();
    flushing.abort();
}
