//! The schedule port: what came of the times schedules fired (state-worker supplement section 4).

use ars_wire::schedules::Firing;
use async_trait::async_trait;

use super::StoreError;

/// Firings of schedules.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Keeps a firing; answers how many are kept of its schedule.
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError>;

    /// The newest firing of each schedule, by name.
    async fn latest(&self) -> Result<Vec<Firing>, StoreError>;
}
