//! The schedule port: the schedules, their firings and outcomes.

use ars_schedules::{SCHEDULES, Schedule};
use ars_wire::schedules::Firing;
use async_trait::async_trait;

use super::StoreError;

/// Firings of schedules.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Returns the schedules.
    fn schedules(&self) -> &'static [Schedule] {
        SCHEDULES
    }

    /// Writes a firing. Returns how many firings of its schedule are stored.
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError>;

    /// Returns the newest firing of each schedule, by name.
    async fn latest(&self) -> Result<Vec<Firing>, StoreError>;
}
