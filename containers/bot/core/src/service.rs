//! The core as a long-lived part of the process: what it was given, what is in flight, and its drain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ars_events::Redactor;
use ars_types::UnixMillis;
use tokio::sync::watch;

use crate::{
    dispatch,
    history::HistoryWriter,
    message::IncomingMessage,
    ports::{ChannelIo, Clock, Models, RunStore, WorkspaceProvider},
    registry::Registry,
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
        let registry = Registry::new(Arc::clone(&deps.clock), Arc::clone(&deps.redactor));
        let history = HistoryWriter::new(Arc::clone(&deps.store));
        let (in_flight, _) = watch::channel(0);
        let started_at = deps.clock.now();
        let drain_started_at = AtomicI64::new(0);
        let threads = Threads::default();
        Self {
            inner: Arc::new(Inner {
                deps,
                registry,
                history,
                threads,
                in_flight,
                started_at,
                drain_started_at,
            }),
        }
    }

    /// Serves one request to its end: replies through `io`, never fails.
    ///
    /// Must be driven to its end even when the requester is gone: callers spawn it.
    pub async fn dispatch(&self, message: IncomingMessage, io: &dyn ChannelIo) {
        dispatch::dispatch(self, message, io).await;
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

    /// Marks the process as draining and waits until nothing is in flight; false when `limit` passed first.
    pub async fn drain(&self, limit: Duration) -> bool {
        let now = self.clock().now().max(1);
        // A second drain keeps the first one's start.
        let _ = self.inner.drain_started_at.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        let mut in_flight = self.inner.in_flight.subscribe();
        tokio::time::timeout(limit, in_flight.wait_for(|count| *count == 0)).await.is_ok()
    }

    /// Counts one piece of work until the guard is dropped.
    pub(crate) fn enter(&self) -> InFlight {
        self.inner.in_flight.send_modify(|count| *count += 1);
        InFlight { core: self.clone() }
    }

    pub(crate) fn deps(&self) -> &Deps {
        &self.inner.deps
    }

    pub(crate) fn history(&self) -> &HistoryWriter {
        &self.inner.history
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.inner.threads
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.core.inner.in_flight.send_modify(|count| *count -= 1);
    }
}
