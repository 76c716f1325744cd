//! Channels by name: the way back to a requester when another process accepted the request.

use std::sync::Arc;

use ars_types::ChannelTraits;
use ars_wire::ledger::LiveRun;
use async_trait::async_trait;

use super::{Channel, ChannelEvent, HistoryTurn, ReplyError};

/// The installation's channels.
pub trait Channels: Send + Sync {
    /// Returns the channel of a run's requester, or `None` if it is gone, such as a closed
    /// terminal.
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn Channel>>;
}

/// A channel without a listener. A reply is in the run's record and logged as delivered.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyListens;

#[async_trait]
impl Channel for NobodyListens {
    fn traits(&self) -> ChannelTraits {
        ChannelTraits::PATIENT
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        if let Some(text) = event.into_text() {
            tracing::info!(
                characters = text.chars().count(),
                "reply of a resumed run; its requester is gone"
            );
        }
        Ok(())
    }
}
