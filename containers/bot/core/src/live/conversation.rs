//! Stores a run's conversation in the transcript object.
//!
//! Rows are only added: the whole conversation is stored, and the loop's saved state selects the
//! part that the model receives. Not here: the encoding (`ars_agent::resume`).

use ars_agent::{Turn, resume};
use ars_bot_ports::{Owned, StoreError, StoreErrorKind, Transcripts};
use ars_wire::{
    ledger::Owner,
    transcript::{Attachment, Part, Transcript},
};

/// Maximum stored conversation size in characters. A resume reads it in a single response with at
/// most 64 MiB, in which escaping can double it. A longer conversation is not stored any further,
/// and the run cannot be resumed.
const MAX_SIZE: usize = 30 << 20;
/// Bytes around a row in that answer.
const ROW_OVERHEAD: usize = 64;

/// A conversation's stored part.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    stored: u64,
    /// Total characters in the stored turns.
    size: usize,
    /// The last follow-up among them.
    inbox_consumed: u64,
    /// Whether this process is the transcript's owner.
    is_owned: bool,
}

impl Conversation {
    /// A reclaimed run's conversation, with the number and size of stored turns.
    pub(super) fn resumed(stored: u64, size: usize) -> Self {
        Self {
            stored,
            size,
            inbox_consumed: 0,
            is_owned: true,
        }
    }

    /// Number of stored turns.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// The last follow-up that this process stored.
    pub(super) fn inbox_consumed(&self) -> u64 {
        self.inbox_consumed
    }

    /// Stores further turns.
    /// The first call makes this process the transcript's owner, because a transcript refuses every other writer. A
    /// call repeated after a failure writes the same rows.
    pub(super) async fn append(
        &mut self,
        transcripts: &dyn Transcripts,
        owner: &Owner,
        turns: &[Turn],
        inbox_consumed: u64,
    ) -> Result<Owned, StoreError> {
        let encoded =
            resume::encode(self.stored, turns, inbox_consumed).map_err(|error| StoreError {
                kind: StoreErrorKind::Refused,
                message: error.to_string(),
            })?;
        let size = self.size + size_of(&encoded.rows, &encoded.attachments);
        if size > MAX_SIZE {
            let message =
                format!("a conversation of {size} characters is too long to be read again");
            return Err(StoreError {
                kind: StoreErrorKind::Refused,
                message,
            });
        }
        if !self.is_owned {
            transcripts.set_owner(owner).await?;
            self.is_owned = true;
        }
        for batch in resume::pack(encoded) {
            match transcripts
                .write(owner, &batch.rows, &batch.attachments)
                .await?
            {
                Owned::Done(()) => {}
                refused => return Ok(refused),
            }
        }
        self.stored += turns.len() as u64;
        self.size = size;
        self.inbox_consumed = inbox_consumed;
        Ok(Owned::Done(()))
    }
}

/// Returns a stored conversation's approximate character count.
pub(crate) fn transcript_size(transcript: &Transcript) -> usize {
    size_of(&transcript.rows, &transcript.attachments)
}

fn size_of(rows: &[Part], attachments: &[Attachment]) -> usize {
    let rows = rows.iter().map(|row| row.json.len() + ROW_OVERHEAD);
    let attachments = attachments
        .iter()
        .map(|attachment| attachment.data.len() + ROW_OVERHEAD);
    rows.chain(attachments).sum()
}
