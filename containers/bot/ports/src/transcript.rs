//! The transcript port: a live run's conversation, for a generation that resumes it.
//!
//! Not here: encoding turns in parts, and whether a transcript is complete enough to resume.

use ars_types::RunId;
use ars_wire::{
    ledger::Owner,
    transcript::{Attachment, Part, Transcript},
};
use async_trait::async_trait;

use super::{Owned, StoreError};

/// Live run transcripts, fenced apart from the ledger.
#[async_trait]
pub trait Transcripts: Send + Sync {
    /// Sets the generation that may write.
    async fn set_owner(&self, owner: &Owner) -> Result<(), StoreError>;

    /// Writes parts and attachments atomically, each replacing the entry with its key.
    async fn write(
        &self,
        owner: &Owner,
        parts: &[Part],
        attachments: &[Attachment],
    ) -> Result<Owned, StoreError>;

    /// Returns the whole transcript, empty for an unknown run.
    async fn read(&self, run: &RunId) -> Result<Transcript, StoreError>;

    /// Removes the transcript and its owner, so that a late write is rejected.
    /// Rejected for a generation that is not the owner; without an owner there is nothing to remove.
    async fn clear(&self, owner: &Owner) -> Result<Owned, StoreError>;
}
