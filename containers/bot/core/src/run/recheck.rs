//! A check behind a run's answer, which may let the run go on.

use ars_agent::RunOutcome;
use async_trait::async_trait;

/// Decides behind an answer whether the run goes on.
#[async_trait]
pub trait Recheck: Send + Sync {
    /// Returns the text with which the run goes on, or `None` if it is over.
    async fn recheck(&self, outcome: &RunOutcome) -> Option<String>;

    /// Prepares the rest of the run once the text is stored. Returns `false` if the run is over after all.
    async fn proceed(&self) -> bool;
}
