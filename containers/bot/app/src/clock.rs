//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use ars_bot_ports::Clock;
use ars_types::UnixMillis;

/// Reads the system's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        UnixMillis::try_from(since.as_millis()).unwrap_or(UnixMillis::MAX)
    }
}
