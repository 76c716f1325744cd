//! The channel port: the way back to the requester.

use std::sync::Arc;

use ars_agent::Role;
use ars_types::ChannelTraits;
use async_trait::async_trait;
use futures::FutureExt as _;

use crate::{Attachment, AttachmentError, ChannelEvent, ReplyError};

/// The channel a request came through.
///
/// A channel that wraps another channel forwards `send` with a single call, so that no event can be
/// forgotten.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Returns the traits on which the core decides.
    fn traits(&self) -> ChannelTraits;

    /// Returns the thread's earlier turns, oldest first.
    async fn history(&self) -> Vec<HistoryTurn>;

    /// Reads a file again, by an attachment's reference.
    ///
    /// A run that continues in another process reads the files of unread messages so. A channel
    /// without files keeps the default.
    ///
    /// # Errors
    /// The channel has no such file, or did not answer. The model and the requester receive a note.
    async fn read_attachment(&self, _reference: &str) -> Result<Arc<[u8]>, AttachmentError> {
        Err(AttachmentError("the channel keeps no files".to_owned()))
    }

    /// Sends an event, or ignores it when the channel has no form for it.
    ///
    /// # Errors
    /// The requester did not receive a message. The run survives that.
    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError>;
}

impl dyn Channel + '_ {
    /// Sends an event about a request's progress. A failure is logged, because no run depends on
    /// it.
    pub async fn inform(&self, event: ChannelEvent) {
        if let Err(error) = self.send(event).await {
            tracing::debug!(%error, "event not delivered");
        }
    }

    /// Sends a status line from synchronous code. A channel that waits before it shows the line loses it.
    pub fn show_status(&self, text: String) {
        drop(self.send(ChannelEvent::Status(text)).now_or_never());
    }
}

/// An earlier turn in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryTurn {
    /// Who wrote the turn.
    pub role: Role,
    /// The text, which may be empty.
    pub text: String,
    /// Files that came with a user's turn, in their order. Those of an assistant's turn are ignored.
    pub attachments: Vec<Attachment>,
}
