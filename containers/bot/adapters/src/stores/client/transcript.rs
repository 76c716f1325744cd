//! Transcripts for live runs.

use ars_bot_ports::{Owned, StoreError, Transcripts};
use ars_types::RunId;
use ars_wire::{
    ledger::{Nothing, Owner},
    state::{Route, TranscriptVerb},
    transcript::{Attachment, OfRun, Part, Transcript, WriteRequest},
};
use async_trait::async_trait;

use super::{
    Client, Transport,
    ledger::{done, owned},
};

#[async_trait]
impl<T: Transport> Transcripts for Client<T> {
    async fn set_owner(&self, owner: &Owner) -> Result<(), StoreError> {
        let Nothing {} = self
            .command(Route::Transcript(TranscriptVerb::Owner), owner)
            .await?;
        Ok(())
    }

    async fn write(
        &self,
        owner: &Owner,
        parts: &[Part],
        attachments: &[Attachment],
    ) -> Result<Owned, StoreError> {
        let request = WriteRequest {
            owner,
            rows: parts,
            attachments,
        };
        owned(
            self.order(Route::Transcript(TranscriptVerb::Write), &request)
                .await,
        )
        .map(done)
    }

    async fn read(&self, run: &RunId) -> Result<Transcript, StoreError> {
        self.ask(
            Route::Transcript(TranscriptVerb::Read),
            &OfRun { run_id: run },
        )
        .await
    }

    async fn clear(&self, owner: &Owner) -> Result<Owned, StoreError> {
        owned(
            self.order(Route::Transcript(TranscriptVerb::Clear), owner)
                .await,
        )
        .map(done)
    }
}

impl<T: Transport> Client<T> {
    /// Removes an ended run's transcript, whatever generation owns it.
    pub(super) async fn clear_ended(&self, run: &RunId) -> Result<(), StoreError> {
        let request = OfRun { run_id: run };
        let Nothing {} = self
            .command(Route::Transcript(TranscriptVerb::Clear), &request)
            .await?;
        Ok(())
    }
}
