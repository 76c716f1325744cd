//! A clock for tests.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ars_bot_ports::Clock;

pub const NOW: i64 = 1_700_000_000_000;

/// A clock that only tests advance.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now)))
    }

    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
