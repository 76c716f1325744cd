//! A run's ledger claim, in all three forms.

use ars_agent::run_end::{FinalFlush, LedgerKnowledge, ReplyPermit};
use ars_types::RunStatus;

use super::{TrackedRun, UnconfirmedClaim};

/// How this process holds a run.
pub enum LedgerClaim {
    /// There is no ledger: the run ends with this process.
    Untracked,
    /// The ledger granted the claim.
    Confirmed(Box<TrackedRun>),
    /// The claim was not answered, so the ledger may or may not have the run.
    Unconfirmed(UnconfirmedClaim),
}

impl LedgerClaim {
    /// Returns the run if the steps are stored.
    pub fn tracked(&self) -> Option<&TrackedRun> {
        match self {
            Self::Confirmed(tracked) => Some(tracked),
            Self::Untracked | Self::Unconfirmed(_) => None,
        }
    }

    /// What the run's end has to know about the claim.
    pub fn knowledge(&self) -> LedgerKnowledge {
        match self {
            Self::Untracked => LedgerKnowledge::Absent,
            Self::Confirmed(_) => LedgerKnowledge::Confirmed,
            Self::Unconfirmed(_) => LedgerKnowledge::Unconfirmed,
        }
    }

    /// Returns whether another process owns the run.
    pub fn is_fenced(&self) -> bool {
        match self {
            Self::Untracked => false,
            Self::Confirmed(tracked) => tracked.is_fenced(),
            Self::Unconfirmed(claim) => claim.is_fenced(),
        }
    }

    /// Completes when another process owns the run.
    pub async fn fenced(&self) {
        match self {
            Self::Untracked => std::future::pending().await,
            Self::Confirmed(tracked) => tracked.fenced().await,
            Self::Unconfirmed(claim) => claim.fenced().await,
        }
    }

    /// Stores how the run ends, and asks for the right to reply.
    pub async fn acquire_reply_permit(&self, status: RunStatus) -> ReplyPermit {
        match self {
            Self::Untracked => ReplyPermit::Unavailable,
            Self::Confirmed(tracked) => tracked.acquire_reply_permit(status).await,
            Self::Unconfirmed(claim) => claim.acquire_reply_permit(status).await,
        }
    }

    /// Flushes the last events, and reads the inbox into the mailbox.
    pub async fn final_flush(&self) -> FinalFlush {
        match self {
            Self::Untracked => FinalFlush::Done,
            Self::Confirmed(tracked) => tracked.final_flush().await,
            Self::Unconfirmed(claim) => claim.final_flush().await,
        }
    }

    /// Like [`Self::final_flush`], before an attempt to write the record, which no requester waits for.
    pub async fn flush_before_record(&self) -> FinalFlush {
        match self {
            Self::Unconfirmed(claim) => claim.flush_before_record().await,
            Self::Untracked | Self::Confirmed(_) => self.final_flush().await,
        }
    }

    /// Stores that the reply was delivered, so that a process that closes the run may report the
    /// end.
    pub async fn mark_replied(&self, status: RunStatus) {
        match self {
            Self::Untracked => {}
            Self::Confirmed(tracked) => tracked.mark_replied(status).await,
            Self::Unconfirmed(claim) => claim.mark_replied(status).await,
        }
    }
}
