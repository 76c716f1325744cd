//! The transcript port: a live run's conversation, for a generation that resumes it (state-worker supplement section
//! 10.1).
//!
//! Not here: how turns are encoded in parts, and whether a transcript is whole enough to resume (sections 10.2 and
//! 10.3).

use ars_types::RunId;
use ars_wire::{
    ledger::Owner,
    transcript::{Attachment, Part, Transcript},
};
use async_trait::async_trait;

use super::{Owned, StoreError};

/// Transcripts of live runs, fenced apart from the ledger.
#[async_trait]
pub trait Transcripts: Send + Sync {
    /// Sets the generation that may write, whoever it was before.
    async fn set_owner(&self, owner: &Owner) -> Result<(), StoreError>;

    /// Writes parts and attachments, each in place of what has its key; whole or not at all.
    async fn write(
        &self,
        owner: &Owner,
        parts: &[Part],
        attachments: &[Attachment],
    ) -> Result<Owned, StoreError>;

    /// Everything there is; nothing of an unknown run.
    async fn read(&self, run: &RunId) -> Result<Transcript, StoreError>;

    /// Removes everything, the owner too, so that a late write is refused.
    async fn clear(&self, run: &RunId) -> Result<(), StoreError>;
}
