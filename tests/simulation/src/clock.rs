//! Simulated wall clocks: the scenario's paused time plus an offset that a fault may change.
//!
//! The store and every process have separate clocks, as in a real deployment.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ars_bot_ports::Clock;
use ars_types::UnixMillis;
use tokio::time::Instant;

/// When every scenario starts.
const BEGIN: UnixMillis = 1_700_000_000_000;

/// A single simulated clock.
pub(crate) struct SimClock {
    began: Instant,
    offset: AtomicI64,
}

impl SimClock {
    /// Returns a clock that agrees with all others started at the same time.
    pub(crate) fn since(began: Instant) -> Arc<Self> {
        Arc::new(Self {
            began,
            offset: AtomicI64::new(0),
        })
    }

    /// Moves the clock forward or back.
    pub(crate) fn jump(&self, ms: i64) {
        self.offset.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SimClock {
    fn now(&self) -> UnixMillis {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap();
        BEGIN + elapsed + self.offset.load(Ordering::SeqCst)
    }
}
