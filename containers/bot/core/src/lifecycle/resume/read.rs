//! Reads a reclaimed run's stored parts.
//!
//! A part that cannot be read while the ledger answers is given up after some attempts: the run is
//! closed, and the thread is free. An outage is not counted. The lease is extended before it can
//! expire. Not here: deciding on the parts (`ars_agent::resume`).

use std::time::Duration;

use ars_bot_ports::{Owned, StoreError, StoreErrorKind};
use ars_types::RunId;
use ars_wire::{
    ledger::{Owner, Reclaimed},
    transcript::Transcript,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    error::{NotResumed, Refused},
    live::{LEASE, Live},
    retry::Policy,
};

/// Failed reads while the ledger answers: an overloaded object for a minute, or timeouts for
/// minutes. Also limits the attempts to open the run's tree.
const MAX_FAILURES: u32 = 12;

/// Wait between two attempts to resume a run, while the stores fail or the tree cannot be opened.
pub(super) const BACKOFF: Duration = Duration::from_secs(5);
/// How long a lease is relied on. A request sent by then reaches the store before the lease
/// expires, because it takes ten seconds at most.
pub(super) const LEASE_RELIANCE: Duration = Duration::from_millis(LEASE as u64 / 2);

/// Rejections before a record is written without events. The bot's release may be newer than the
/// store's.
const MAX_REJECTIONS: u32 = 3;

/// The attempts that are left to resume a run.
#[derive(Debug)]
pub(super) struct ReadBudget {
    /// Reads that failed while the ledger answered, and failures to open the tree.
    failures: u32,
    /// Number of permanent rejections.
    rejections: u32,
    /// When the request that last extended the lease was made.
    leased_at: Instant,
}

/// Reads the conversation after making this process the transcript's owner. The previous owner
/// could write until then. A transcript accepts every new owner, so a process must not become owner
/// when its lease may have expired.
pub(super) async fn conversation(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<Transcript, NotResumed> {
    let (id, owner) = (&run.row.run_id, live.owner(&run.row.run_id));
    let leased_at = budget.leased_at;
    let read = Policy::STATE.run(id, || async {
        require_lease(leased_at)?;
        live.transcripts().set_owner(&owner).await?;
        live.transcripts().read(id).await
    });
    budget.judge(live, &owner, read.await).await
}

/// Removes the conversation after making this process the transcript's owner. If another process
/// became the owner since, that process's conversation stays.
pub(super) async fn clear_conversation(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<(), NotResumed> {
    let (id, owner) = (&run.row.run_id, live.owner(&run.row.run_id));
    let leased_at = budget.leased_at;
    let cleared = Policy::STATE.run(id, || async {
        require_lease(leased_at)?;
        live.transcripts().set_owner(&owner).await?;
        live.transcripts().clear(&owner).await
    });
    match budget.judge(live, &owner, cleared.await).await? {
        Owned::Fenced => Err(Refused::Fenced.into()),
        Owned::Done(()) | Owned::UnknownRun => Ok(()),
    }
}

fn require_lease(leased_at: Instant) -> Result<(), StoreError> {
    if leased_at.elapsed() < LEASE_RELIANCE {
        return Ok(());
    }
    let message = "the lease may expire before the transcript has its new owner".to_owned();
    Err(StoreError {
        kind: StoreErrorKind::Transient,
        message,
    })
}

/// Reads the run's stored events.
pub(super) async fn events(
    live: &Live,
    run: &RunId,
    budget: &mut ReadBudget,
) -> Result<Vec<Value>, NotResumed> {
    let read = Policy::STATE
        .run(run, || live.ledger().live_events(run, 0))
        .await;
    budget.judge(live, &live.owner(run), read).await
}

impl ReadBudget {
    /// Creates the budget for a run leased then.
    pub(super) fn new(leased_at: Instant) -> Self {
        Self {
            failures: 0,
            rejections: 0,
            leased_at,
        }
    }

    /// Counts a failed attempt.
    pub(super) fn count(&mut self, error: &StoreError) {
        if error.kind == StoreErrorKind::Refused {
            self.rejections += 1;
        }
    }

    /// Returns whether the store rejects the run's record with events.
    pub(super) const fn is_record_rejected(&self) -> bool {
        self.rejections >= MAX_REJECTIONS
    }

    /// Returns whether the refusal is temporary and attempts are left.
    pub(super) fn allows_retry(&mut self, refused: &Refused) -> bool {
        let is_temporary = matches!(refused, Refused::Disk(_));
        self.failures += u32::from(is_temporary);
        is_temporary && self.failures < MAX_FAILURES
    }

    /// Returns whether this process owns the run for long enough to work on it.
    pub(super) async fn keeps_lease(
        &mut self,
        live: &Live,
        owner: &Owner,
    ) -> Result<bool, StoreError> {
        if self.leased_at.elapsed() < LEASE_RELIANCE {
            Ok(true)
        } else {
            self.extend(live, owner).await
        }
    }

    /// Extends the lease. Returns `false` when another process owns the run.
    async fn extend(&mut self, live: &Live, owner: &Owner) -> Result<bool, StoreError> {
        let asked_at = Instant::now();
        let beat = live.ledger().heartbeat(owner, LEASE).await?;
        let is_ours = matches!(beat, Owned::Done(_));
        if is_ours {
            self.leased_at = asked_at;
        }
        Ok(is_ours)
    }

    /// Returns the part, or the reason for giving it up, or an error when it is to be read again.
    /// The lease is extended behind a failure, or another process would start over.
    async fn judge<T>(
        &mut self,
        live: &Live,
        owner: &Owner,
        read: Result<T, StoreError>,
    ) -> Result<T, NotResumed> {
        let error = match read {
            Ok(read) => return Ok(read),
            Err(error) if error.kind != StoreErrorKind::Transient => {
                return Err(Refused::Unread(error).into());
            }
            Err(error) => error,
        };
        match self.extend(live, owner).await {
            Ok(true) => self.failures += 1,
            Ok(false) => return Err(Refused::Fenced.into()),
            // An outage of everything is no failure of this run.
            Err(_) => return Err(error.into()),
        }
        if self.failures < MAX_FAILURES {
            Err(error.into())
        } else {
            Err(Refused::Unread(error).into())
        }
    }
}
