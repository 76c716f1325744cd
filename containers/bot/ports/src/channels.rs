//! Channels by name: the way back to a requester of a request that another process accepted.

use std::sync::Arc;

use ars_wire::ledger::LiveRun;
use async_trait::async_trait;

use super::{ChannelIo, HistoryTurn, ReplyError};

/// The channels of the installation.
pub trait Channels: Send + Sync {
    /// Returns the channel of a run's requester, or `None` for one that is gone, such as a closed terminal.
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>>;
}

/// A channel without a listener. A reply is in the run's record and logged as delivered.
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
