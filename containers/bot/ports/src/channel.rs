//! The way back to the requester (document 1 sections 1 and 2.4).

use ars_agent::Role;
use ars_types::{RunId, RunStatus};
use async_trait::async_trait;

/// What the core may ask of the channel a message came through.
#[async_trait]
pub trait ChannelIo: Send + Sync {
    /// Says `text` to the requester. May fail without losing the run.
    async fn reply(&self, text: &str) -> Result<(), ReplyError>;

    /// Earlier turns of the thread, oldest first.
    async fn history(&self) -> Vec<HistoryTurn>;

    /// Fired, before the reply that says so, of a request that was turned away because the process is ending: nothing of it
    /// was begun, and the next process takes it when it is sent again.
    fn turned_away(&self) {}

    /// A short word on what the run is doing. Most channels ignore it.
    fn status(&self, _text: &str) {}

    /// Fired at every run creation.
    fn run_started(&self, _id: &RunId) {}

    /// What the run cost, in millionths of a dollar, where that is known; fired before its finish. A channel whose receipt
    /// has a fixed form leaves it to the run's page.
    fn run_cost(&self, _microusd: u64) {}

    /// Fired once when the run is finished in the registry, before its reply.
    fn run_finished(&self, _id: &RunId, _status: RunStatus) {}
}

/// One earlier turn of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryTurn {
    /// Who spoke.
    pub role: Role,
    /// What was said; may be empty.
    pub text: String,
}

/// The requester could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("reply not delivered: {0}")]
pub struct ReplyError(pub String);
