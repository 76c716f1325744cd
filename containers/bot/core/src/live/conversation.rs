//! Keeps a run's conversation in its transcript object (state-worker supplement section 10).
//!
//! Rows are only added: the whole conversation is stored, and the loop's saved state tells which part of it the model
//! is shown. Not here: the encoding (`ars_agent::resume`).

use ars_agent::{Turn, resume};
use ars_bot_ports::{Owned, StoreError, StoreErrorKind, Transcripts};
use ars_wire::{
    ledger::Owner,
    transcript::{Attachment, Part, Transcript},
};

/// Most characters of a conversation. A new process is given it in one answer (state-worker supplement section 10.1), which
/// it has to have within a store's ten seconds and takes up to 64 MiB of: escaped once more, at most twice as many. One
/// that grows beyond is not stored any further, and ends where it is.
const MOST: usize = 30 << 20;
/// What stands around a row in that answer.
const AROUND: usize = 64;

/// Turns stored so far.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    stored: u64,
    /// Characters of them.
    size: usize,
    /// The last follow-up in it.
    inbox_consumed: u64,
    /// The transcript knows this process as the one that writes.
    is_owned: bool,
}

impl Conversation {
    /// One of which so many turns, of such a size, are stored already, taken over with its run.
    pub(super) fn of(stored: u64, size: usize) -> Self {
        Self { stored, size, inbox_consumed: 0, is_owned: true }
    }

    /// Turns stored.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// The last follow-up that this process stored with it.
    pub(super) fn inbox_consumed(&self) -> u64 {
        self.inbox_consumed
    }

    /// Stores the turns behind what is stored, once the transcript knows who writes: one that does not refuses them as it
    /// refuses another process. Repeating it after a failure writes the same rows again.
    pub(super) async fn append(
        &mut self,
        transcripts: &dyn Transcripts,
        owner: &Owner,
        turns: &[Turn],
        inbox_consumed: u64,
    ) -> Result<Owned, StoreError> {
        let encoded = resume::encode(self.stored, turns, inbox_consumed)
            .map_err(|error| StoreError { kind: StoreErrorKind::Refused, message: error.to_string() })?;
        let size = self.size + size_of(&encoded.rows, &encoded.attachments);
        if size > MOST {
            let message =
                format!("a conversation of {size} characters is more than a new process could read");
            return Err(StoreError { kind: StoreErrorKind::Refused, message });
        }
        if !self.is_owned {
            transcripts.set_owner(owner).await?;
            self.is_owned = true;
        }
        for batch in resume::pack(encoded) {
            match transcripts.write(owner, &batch.rows, &batch.attachments).await? {
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

/// Characters of a stored conversation, about.
pub(crate) fn transcript_size(transcript: &Transcript) -> usize {
    size_of(&transcript.rows, &transcript.attachments)
}

fn size_of(rows: &[Part], attachments: &[Attachment]) -> usize {
    let rows = rows.iter().map(|row| row.json.len() + AROUND);
    let attachments = attachments.iter().map(|attachment| attachment.data.len() + AROUND);
    rows.chain(attachments).sum()
}
