//! A tracked run's end in the ledger: the reply permit, the mark behind the reply, and the handoff.

use std::time::Duration;

use ars_agent::run_end::{FinalFlush, ReplyPermit};
use ars_types::RunStatus;
use tokio::time::Instant;

use super::{
    TrackedRun, is_transient,
    tracked::{LAST_WAIT, STEP_WAITS},
};
use ars_bot_ports::{Owned, StoreError, StoreErrorKind};

/// Timeout for acquiring the reply permit, including hung attempts. Together with a heartbeat
/// interval it stays below the lease, so no other owner can reply first.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(18);
/// Minimum request timeout once the deadline has passed, for example after a suspension. Two such
/// requests still end before the lease expires.
const MIN_TIMEOUT: Duration = Duration::from_millis(750);
/// Timeout for the flush before a handoff.
const HANDOFF_FLUSH_TIMEOUT: Duration = Duration::from_secs(6);
/// Wait between two attempts at that flush.
const HANDOFF_FLUSH_BACKOFF: Duration = Duration::from_millis(500);

impl TrackedRun {
    /// Stores how the run ends, and asks for the right to reply.
    pub async fn acquire_reply_permit(&self, status: RunStatus) -> ReplyPermit {
        self.change(|state| state.set_ended(status, false));
        let until = Instant::now() + PERMIT_TIMEOUT;
        let mut waits = STEP_WAITS.into_iter().chain(std::iter::repeat(LAST_WAIT));
        let (mut is_requested, mut is_last) = (false, false);
        loop {
            let error = match self.request_permit(until, &mut is_requested).await {
                Ok(Owned::Done(())) => return ReplyPermit::Granted,
                Ok(Owned::Fenced | Owned::UnknownRun) => {
                    self.cursor.fence_out();
                    return ReplyPermit::Denied;
                }
                Err(error) => error,
            };
            let wait = waits.next().unwrap_or(LAST_WAIT);
            let is_late = Instant::now() + wait > until;
            // An earlier request may have been granted although the response was lost; a repeat
            // would then be rejected.
            if !is_transient(&error) || is_last || (is_late && is_requested) {
                tracing::warn!(run = %self.cursor.run(), error = %error, "replying without a permit");
                return ReplyPermit::Unavailable;
            }
            is_last = is_late;
            if !is_late {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Stores the state before the phase changes. A reclaimed run that is `finishing` without a
    /// status counts as having replied.
    async fn request_permit(
        &self,
        until: Instant,
        is_requested: &mut bool,
    ) -> Result<Owned, StoreError> {
        match with_deadline(until, self.try_state()).await? {
            Owned::Done(()) => {
                *is_requested = true;
                with_deadline(until, self.live.ledger().finishing(&self.cursor.owner)).await
            }
            refused => Ok(refused),
        }
    }

    /// Stores that the reply was delivered.
    pub(super) async fn mark_replied(&self, status: RunStatus) {
        self.change(|state| state.set_ended(status, true));
        self.store_state().await;
    }

    /// Flushes the last events, and reads the inbox into the mailbox. A permanent refusal counts as done.
    pub async fn final_flush(&self) -> FinalFlush {
        match self.live.flush_run(&self.cursor).await {
            Ok(()) => FinalFlush::Done,
            Err(error) => {
                tracing::warn!(run = %self.cursor.run(), error = %error, "final flush failed");
                if is_transient(&error) {
                    FinalFlush::Failed
                } else {
                    FinalFlush::Done
                }
            }
        }
    }

    /// Offers the run to the next generation. Returns `false` if the ledger did not take the offer.
    pub async fn hand_off(&self) -> bool {
        let run = self.cursor.run();
        if tokio::time::timeout(HANDOFF_FLUSH_TIMEOUT, self.flush_all())
            .await
            .is_err()
        {
            tracing::warn!(run = %run, "run handed off without its last events");
        }
        self.detach();
        match self
            .live
            .ledger()
            .handoff(self.live.generation(), std::slice::from_ref(run))
            .await
        {
            Ok(marked) => marked.contains(run),
            Err(error) => {
                // The next process reclaims it once the lease expires.
                tracing::warn!(run = %run, error = %error, "run not handed off");
                false
            }
        }
    }

    /// Flushes until the ledger has everything.
    async fn flush_all(&self) {
        while self.live.flush_run(&self.cursor).await.is_err() {
            tokio::time::sleep(HANDOFF_FLUSH_BACKOFF).await;
        }
    }
}

/// Bounds a request by a deadline, or by the least timeout if that is later.
async fn with_deadline<T>(
    until: Instant,
    request: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let until = until.max(Instant::now() + MIN_TIMEOUT);
    tokio::time::timeout_at(until, request)
        .await
        .unwrap_or_else(|_elapsed| {
            Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "no answer in time".to_owned(),
            })
        })
}
