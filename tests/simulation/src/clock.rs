//! Simulated wall clocks: the paused time of the scenario plus an offset that a fault may move.
//!
//! The store and every process have a clock of their own, because theirs are not one clock in the world either.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ars_bot_ports::Clock;
use ars_types::UnixMillis;
use tokio::time::Instant;

/// The moment every scenario begins at.
const BEGIN: UnixMillis = 1_700_000_000_000;

/// One clock.
pub(crate) struct SimClock {
    began: Instant,
    offset: AtomicI64,
}

impl SimClock {
    /// A clock that agrees with all others that began at the same moment.
    pub(crate) fn since(began: Instant) -> Arc<Self> {
        Arc::new(Self { began, offset: AtomicI64::new(0) })
    }

    /// Moves it, forward or back.
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
