//! A run that continues although the claim got no response.
//!
//! The claim may have taken effect. Then the ledger has the run as this process's, the thread as
//! taken, and accepts stops and follow-ups for it. So each heartbeat asks for the run too. Once the
//! ledger confirms it, it is flushed and the inbox read like any other run's. The steps are not
//! stored, because a resume would lack the earlier ones, so the run ends with the process.

use std::{sync::Arc, time::Duration};

use ars_agent::{
    resume::RunState,
    run_end::{FinalFlush, ReplyPermit},
};
use ars_bot_ports::{Owned, StoreError};
use ars_types::RunStatus;

use super::{Live, cursor::FlushCursor, is_transient};
use crate::{registry::RunHandle, threads::Mailbox};

/// Timeout for each request that the requester waits for at the run's end: the same as for the
/// claim.
const TIMEOUT: Duration = super::CLAIM_TIMEOUT;

/// An unconfirmed claim. The flush stops carrying the run when it is dropped.
pub struct UnconfirmedClaim {
    live: Live,
    cursor: Arc<FlushCursor>,
}

impl Live {
    /// Adds a run with an unanswered claim to the flush.
    pub fn track_unconfirmed(&self, run: &RunHandle, mailbox: &Mailbox) -> UnconfirmedClaim {
        let cursor = FlushCursor::unconfirmed(self.owner(run.id()), run.feed(), mailbox.clone());
        UnconfirmedClaim::new(self.clone(), self.insert(run, cursor))
    }
}

impl UnconfirmedClaim {
    fn new(live: Live, cursor: Arc<FlushCursor>) -> Self {
        Self { live, cursor }
    }

    /// Returns whether another process owns the run.
    pub(super) fn is_fenced(&self) -> bool {
        self.cursor.is_fenced()
    }

    /// Completes when another process owns the run.
    pub(super) async fn fenced(&self) {
        self.cursor.fenced().await;
    }

    /// Asks for the right to reply, if the ledger has the run.
    pub(super) async fn acquire_reply_permit(&self, status: RunStatus) -> ReplyPermit {
        self.final_flush().await;
        if self.cursor.is_fenced() {
            return ReplyPermit::Denied;
        }
        if !self.cursor.is_confirmed() {
            return ReplyPermit::Unavailable;
        }
        let answer = tokio::time::timeout(TIMEOUT, self.request_permit(status)).await;
        match answer {
            Ok(Ok(Owned::Done(()))) => ReplyPermit::Granted,
            Ok(Ok(Owned::Fenced | Owned::UnknownRun)) => {
                self.cursor.fence_out();
                ReplyPermit::Denied
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(run = %self.cursor.run(), "replying without a permit");
                ReplyPermit::Unavailable
            }
        }
    }

    /// Stores the status before the phase changes. A reclaimed run that is `finishing` without a
    /// status counts as having replied.
    async fn request_permit(&self, status: RunStatus) -> Result<Owned, StoreError> {
        match self.store_end(status, false).await? {
            Owned::Done(()) => self.live.ledger().finishing(&self.cursor.owner).await,
            refused => Ok(refused),
        }
    }

    /// Stores that the reply was delivered.
    pub(super) async fn mark_replied(&self, status: RunStatus) {
        if self.cursor.is_fenced() || !self.cursor.is_confirmed() {
            return;
        }
        let stored = tokio::time::timeout(TIMEOUT, self.store_end(status, true)).await;
        if !matches!(stored, Ok(Ok(Owned::Done(())))) {
            tracing::warn!(run = %self.cursor.run(), "the delivered reply may not be marked in the ledger");
        }
    }

    /// Replaces the state, which holds nothing else for a run without steps.
    async fn store_end(&self, status: RunStatus, replied: bool) -> Result<Owned, StoreError> {
        let mut state = RunState::default();
        state.set_ended(status, replied);
        self.live
            .ledger()
            .state(&self.cursor.owner, &state.to_row())
            .await
    }

    /// Flushes the run if the ledger has it, and reads the inbox, while the requester waits.
    pub(super) async fn final_flush(&self) -> FinalFlush {
        tokio::time::timeout(TIMEOUT, self.flush_before_record())
            .await
            .unwrap_or_else(|_elapsed| {
                self.warn_failed(&"the ledger did not answer in time");
                FinalFlush::Failed
            })
    }

    /// Like [`Self::final_flush`], but limited only by the store's own timeout.
    /// The record waits for the answer, and a slow ledger must not lose it.
    pub(super) async fn flush_before_record(&self) -> FinalFlush {
        match self.live.flush_run(&self.cursor).await {
            Err(error) if is_transient(&error) => {
                self.warn_failed(&error);
                FinalFlush::Failed
            }
            Ok(()) | Err(_) => FinalFlush::Done,
        }
    }

    fn warn_failed(&self, error: &dyn std::fmt::Display) {
        tracing::warn!(run = %self.cursor.run(), %error, "final flush of an unconfirmed run failed");
    }
}

impl Drop for UnconfirmedClaim {
    fn drop(&mut self) {
        self.live.forget(self.cursor.run());
    }
}
