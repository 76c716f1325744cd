//! Counts dispatches and pending post-run work, and starts the drain that waits for them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::metrics;
use ars_types::UnixMillis;
use tokio::sync::watch;

/// A process's work in flight.
pub(crate) struct InFlightCount {
    count: watch::Sender<u64>,
    /// 0 while not draining.
    drain_started_at: AtomicI64,
}

/// Keeps the count raised until dropped.
pub(crate) struct InFlight {
    counter: Arc<InFlightCount>,
}

impl InFlightCount {
    /// Starts at zero, not draining.
    pub(crate) fn new() -> Arc<Self> {
        let (count, _) = watch::channel(0);
        Arc::new(Self {
            count,
            drain_started_at: AtomicI64::new(0),
        })
    }

    /// Counts a new request, or returns `None` during a drain, which accepts no new work.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<InFlight> {
        let is_admitted = self.count.send_if_modified(|count| {
            let is_admitted = self.drain_started_at.load(Ordering::Acquire) == 0;
            *count += u64::from(is_admitted);
            is_admitted
        });
        is_admitted.then(|| {
            metrics::in_flight(self.current());
            InFlight {
                counter: Arc::clone(self),
            }
        })
    }

    /// Counts work that belongs to an accepted request, also during a drain.
    pub(crate) fn enter(self: &Arc<Self>) -> InFlight {
        self.count.send_modify(|count| {
            *count += 1;
            metrics::in_flight(*count);
        });
        InFlight {
            counter: Arc::clone(self),
        }
    }

    /// Returns the current count.
    pub(crate) fn current(&self) -> u64 {
        *self.count.borrow()
    }

    /// Starts the drain. A second call keeps the first start time.
    pub(crate) fn start_drain(&self, now: UnixMillis) {
        // Under the channel's lock, so that a request is either counted before the drain starts or rejected.
        self.count.send_modify(|_| {
            let started_at = &self.drain_started_at;
            let _ = started_at.compare_exchange(0, now.max(1), Ordering::AcqRel, Ordering::Acquire);
        });
    }

    /// Returns when the drain started, or `None` before it.
    pub(crate) fn drain_started_at(&self) -> Option<UnixMillis> {
        Some(self.drain_started_at.load(Ordering::Acquire)).filter(|at| *at != 0)
    }

    /// Waits until the count is zero. Returns `false` when `limit` elapses first.
    pub(crate) async fn idle(&self, limit: Duration) -> bool {
        let mut count = self.count.subscribe();
        tokio::time::timeout(limit, count.wait_for(|count| *count == 0))
            .await
            .is_ok()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.counter.count.send_modify(|count| {
            *count -= 1;
            metrics::in_flight(*count);
        });
    }
}
