//! The core as a long-lived part of the process: what it was given, what is in flight, and its drain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::{
    ChannelIo, Clock, IncomingMessage, Models, Randomness, RunStore, WorkspaceProvider, metrics,
};
use ars_events::Redactor;
use ars_types::{Generation, UnixMillis};
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    capabilities::Capabilities,
    day_spend::{Books, DaySpend},
    dispatch,
    history::HistoryWriter,
    live::Live,
    registry::Registry,
    resume,
    settings::Settings,
    threads::Threads,
};

/// How long a drain may take (document 2 section 8, "Shutdown drain").
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// What the core is given.
pub struct Deps {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Models by name.
    pub models: Arc<dyn Models>,
    /// Where agents work.
    pub workspaces: Arc<dyn WorkspaceProvider>,
    /// Durable history.
    pub store: Arc<dyn RunStore>,
    /// What else there is.
    pub capabilities: Capabilities,
    /// Cleans everything a run says.
    pub redactor: Arc<Redactor>,
    /// The installation.
    pub settings: Settings,
}

/// The core. Cheap to clone.
#[derive(Clone)]
pub struct Core {
    inner: Arc<Inner>,
}

struct Inner {
    deps: Deps,
    registry: Registry,
    history: HistoryWriter,
    threads: Threads,
    day_spend: Arc<DaySpend>,
    live: Option<Live>,
    /// Fires when tracked runs are to be left to the next process.
    hand_off: CancellationToken,
    in_flight: watch::Sender<u64>,
    started_at: UnixMillis,
    /// 0 while not draining.
    drain_started_at: AtomicI64,
}

/// What the process is doing, for its health probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Dispatches from their first line, plus pending post-run work.
    pub in_flight: u64,
    /// The process is shutting down.
    pub draining: bool,
    /// When the process started.
    pub started_at: UnixMillis,
    /// When the drain began.
    pub drain_started_at: Option<UnixMillis>,
    /// Final run records that could not be written.
    pub lost_records: u64,
}

/// Keeps the in-flight counter up while it lives.
pub(crate) struct InFlight {
    core: Core,
}

impl Core {
    /// A core with nothing in flight.
    pub fn new(deps: Deps) -> Self {
        Self::drawing_from(Randomness::default(), deps)
    }

    /// A core with nothing in flight whose ids and tokens come from this source.
    pub fn drawing_from(randomness: Randomness, deps: Deps) -> Self {
        let (clock, redactor) = (Arc::clone(&deps.clock), Arc::clone(&deps.redactor));
        let registry = Registry::drawing_from(randomness, clock, redactor);
        let history = HistoryWriter::new(Arc::clone(&deps.store));
        let (in_flight, _) = watch::channel(0);
        let started_at = deps.clock.now();
        let drain_started_at = AtomicI64::new(0);
        let threads = Threads::default();
        let ledger = deps.capabilities.ledger.as_ref();
        let live = ledger.map(|ledger| Live::new(ledger.stores.clone(), ledger.generation.clone()));
        Self {
            inner: Arc::new(Inner {
                deps,
                registry,
                history,
                threads,
                day_spend: Arc::default(),
                live,
                hand_off: CancellationToken::new(),
                in_flight,
                started_at,
                drain_started_at,
            }),
        }
    }

    /// Serves one request to its end: replies through `io`, never fails. One that comes while the process drains is turned
    /// away.
    ///
    /// Must be driven to its end even when the requester is gone: callers spawn it.
    ///
    /// Boxed, because the end of one dispatch may begin another.
    pub fn dispatch(&self, message: IncomingMessage, io: Arc<dyn ChannelIo>) -> BoxFuture<'_, ()> {
        Box::pin(dispatch::dispatch(self, message, io))
    }

    /// The same of what a run left unread.
    pub(crate) fn dispatch_leftover(
        &self,
        message: IncomingMessage,
        io: Arc<dyn ChannelIo>,
    ) -> BoxFuture<'_, ()> {
        Box::pin(dispatch::dispatch_leftover(self, message, io))
    }

    /// The runs of this process.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Durable history.
    pub fn store(&self) -> &Arc<dyn RunStore> {
        &self.inner.deps.store
    }

    /// The installation.
    pub fn settings(&self) -> &Settings {
        &self.inner.deps.settings
    }

    /// Time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.deps.clock
    }

    /// What the process is doing.
    pub fn load(&self) -> Load {
        let drain_started_at =
            Some(self.inner.drain_started_at.load(Ordering::Acquire)).filter(|at| *at != 0);
        Load {
            in_flight: *self.inner.in_flight.borrow(),
            draining: drain_started_at.is_some(),
            started_at: self.inner.started_at,
            drain_started_at,
            lost_records: self.inner.history.lost(),
        }
    }

    /// This process's generation in the ledger.
    pub fn generation(&self) -> Option<&Generation> {
        self.inner.live.as_ref().map(Live::generation)
    }

    /// Keeps the ledger until `end` fires: flushes what runs publish, extends their leases, and takes over, at once and
    /// then every lease interval, what other processes left.
    pub async fn keep_ledger(&self, end: CancellationToken) {
        if let Some(live) = &self.inner.live {
            tokio::join!(live.run(end.clone()), resume::keep_taking_over(self, end));
        }
    }

    /// Looks, until `end` fires, for what other processes change of the configuration.
    pub async fn keep_overrides(&self, end: CancellationToken) {
        if let Some(overrides) = &self.inner.deps.capabilities.overrides {
            overrides.keep_current(end).await;
        }
    }

    /// Marks the process as draining, from when on it turns requests away, leaves the runs that the ledger has to the next
    /// process if there is to be one, each at its next step boundary, and waits until nothing is in flight; false when
    /// `limit` passed first.
    pub async fn drain(&self, limit: Duration) -> bool {
        let now = self.clock().now().max(1);
        // While nobody counts: a request is in flight before the drain begins, or is turned away. A second drain keeps the
        // first one's start.
        self.inner.in_flight.send_modify(|_| {
            let started_at = &self.inner.drain_started_at;
            let _ = started_at.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        });
        if self.inner.deps.capabilities.ledger.as_ref().is_some_and(|ledger| ledger.has_successor) {
            self.inner.hand_off.cancel();
        }
        self.idle(limit).await
    }

    /// Waits until nothing is in flight; false when `limit` passed first.
    pub async fn idle(&self, limit: Duration) -> bool {
        let mut in_flight = self.inner.in_flight.subscribe();
        tokio::time::timeout(limit, in_flight.wait_for(|count| *count == 0)).await.is_ok()
    }

    /// Counts a request until the guard is dropped; nothing while the process drains, which would never end if it went on
    /// taking requests.
    pub(crate) fn admit(&self) -> Option<InFlight> {
        let is_admitted = self.inner.in_flight.send_if_modified(|count| {
            let is_admitted = self.inner.drain_started_at.load(Ordering::Acquire) == 0;
            *count += u64::from(is_admitted);
            is_admitted
        });
        is_admitted.then(|| {
            metrics::in_flight(*self.inner.in_flight.borrow());
            InFlight { core: self.clone() }
        })
    }

    /// Counts one piece of work until the guard is dropped, drain or not: it belongs to what was taken on before.
    pub(crate) fn enter(&self) -> InFlight {
        self.inner.in_flight.send_modify(|count| {
            *count += 1;
            metrics::in_flight(*count);
        });
        InFlight { core: self.clone() }
    }

    pub(crate) fn deps(&self) -> &Deps {
        &self.inner.deps
    }

    pub(crate) fn history(&self) -> &HistoryWriter {
        &self.inner.history
    }

    /// The ledger's client, when there is a ledger.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.inner.live.as_ref()
    }

    /// Fires when tracked runs are to be left to the next process.
    pub(crate) fn hand_off(&self) -> &CancellationToken {
        &self.inner.hand_off
    }

    /// Where it stands what runs have cost and may cost.
    pub(crate) fn books(&self) -> Books<'_> {
        Books { store: &**self.store(), live: self.live() }
    }

    pub(crate) fn day_spend(&self) -> &Arc<DaySpend> {
        &self.inner.day_spend
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.inner.threads
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.core.inner.in_flight.send_modify(|count| {
            *count -= 1;
            metrics::in_flight(*count);
        });
    }
}
