//! Channels by name: the way back to a requester whose request another process took in (state-worker supplement 9.5).

use std::sync::Arc;

use ars_wire::ledger::LiveRun;
use async_trait::async_trait;

use super::{ChannelIo, HistoryTurn, ReplyError};

/// The channels of the installation.
pub trait Channels: Send + Sync {
    /// The way back to whoever asked for this run; nothing when its channel cannot be taken up again, as a terminal
    /// that is gone.
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>>;
}

/// A channel nobody listens on any more: a reply is in the run's record, and logged as given.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyListens;

#[async_trait]
impl ChannelIo for NobodyListens {
    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        tracing::info!(characters = text.chars().count(), "reply of a resumed run; its requester is gone");
        Ok(())
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }
}
