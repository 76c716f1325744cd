//! Keeps a run's conversation in its transcript object (state-worker supplement section 10).
//!
//! Rows are only added: the whole conversation is stored, and the loop's saved state tells which part of it the model
//! is shown. Not here: the encoding (`ars_agent::resume`).

use ars_agent::{Turn, resume};
use ars_wire::ledger::Owner;

use crate::ports::{Owned, StoreError, StoreErrorKind, Transcripts};

/// Turns stored so far.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    stored: u64,
    /// The last follow-up in it.
    inbox_consumed: u64,
    /// The transcript knows this process as the one that writes.
    is_owned: bool,
}

impl Conversation {
    /// One of which so many turns are stored already, taken over with its run.
    pub(super) fn of(stored: u64) -> Self {
        Self { stored, inbox_consumed: 0, is_owned: true }
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
        self.inbox_consumed = inbox_consumed;
        Ok(Owned::Done(()))
    }
}
