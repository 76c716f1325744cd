//! Time as the core sees it.

use ars_types::UnixMillis;

/// The wall clock. A test's clock moves when told to.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> UnixMillis;
}
