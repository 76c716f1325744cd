//! The schedule port: the firings of schedules and their outcomes.

use ars_wire::schedules::Firing;
use async_trait::async_trait;

use super::StoreError;

/// Firings of schedules.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Writes a firing. Returns how many firings of its schedule are stored.
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError>;

    /// Returns the newest firing of each schedule, by name.
    async fn latest(&self) -> Result<Vec<Firing>, StoreError>;
}
