//! The clock port.

use ars_types::UnixMillis;

/// The wall clock, replaceable in tests.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> UnixMillis;
}
