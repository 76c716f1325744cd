//! The schedule port: the schedules, their firings and outcomes.

use ars_schedules::{SCHEDULES, Schedule};
use ars_wire::schedules::Firing;
use async_trait::async_trait;

use super::StoreError;

/// Stores when schedules fired.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Returns every known schedule.
    fn schedules(&self) -> &'static [Schedule] {
        SCHEDULES
    }

    /// Writes a firing. Returns how many firings are stored for the schedule.
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError>;

    /// Returns each schedule's newest firing, by name.
    async fn latest(&self) -> Result<Vec<Firing>, StoreError>;
}
