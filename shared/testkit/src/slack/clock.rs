//! The workspace's clock, in microseconds since the epoch: the machine's, or one that a test sets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The machine's clock shifted, or a clock that stands still.
#[derive(Debug, Default)]
pub(super) struct Clock {
    frozen: Option<u64>,
    ahead: u64,
    last_ts: u64,
}

impl Clock {
    pub(super) fn now(&self) -> u64 {
        self.frozen.unwrap_or_else(machine) + self.ahead
    }

    /// Returns whole seconds since the epoch.
    pub(super) fn seconds(&self) -> u64 {
        self.now() / 1_000_000
    }

    pub(super) fn freeze(&mut self, since_epoch: Duration) {
        self.frozen = Some(micros(since_epoch));
        self.ahead = 0;
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.ahead += micros(by);
    }

    /// Returns a message timestamp, later than every earlier one.
    pub(super) fn next_ts(&mut self) -> String {
        self.last_ts = self.now().max(self.last_ts + 1);
        format!(
            "{}.{:06}",
            self.last_ts / 1_000_000,
            self.last_ts % 1_000_000
        )
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service compares the ages of messages with its own clock"
)]
fn machine() -> u64 {
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}
