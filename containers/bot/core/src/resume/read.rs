//! Reading what the stores have of a run that was taken over (state-worker supplement sections 9.5 and 10).
//!
//! What cannot be read by then will not be read by whoever takes the run next: it is closed, and its thread is free. An
//! outage is no such failure. Nor is the run this process's for ever meanwhile: its lease is extended before it may have
//! lapsed, or nothing more is done for it. Not here: what is made of what was read (`ars_agent::resume`).

use std::time::Duration;

use ars_bot_ports::{Owned, StoreError, StoreErrorKind};
use ars_types::RunId;
use ars_wire::{
    ledger::{Owner, Reclaimed},
    transcript::Transcript,
};
use serde_json::Value;
use tokio::time::Instant;

use super::Refused;
use crate::{
    live::{LEASE, Live},
    retry::Policy,
};

/// How often what is stored of a run is read in vain while its ledger answers: a minute of an overloaded object, or some
/// minutes of answers that do not come in time. Its tree is tried as often.
const PASSES: u32 = 12;

/// How long a lease is relied on. A request of that age reaches its store before the lease lapses: it takes ten seconds at
/// most (state-worker supplement section 11).
pub(super) const RELIED_ON: Duration = Duration::from_millis(LEASE as u64 / 2);

/// So many times a record is refused before it is written without its events: a release of the bot may precede its store's.
const REFUSALS: u32 = 3;

/// What the attempts so far to go on with a run leave of it.
#[derive(Debug)]
pub(super) struct Patience {
    /// Those at which the ledger answered and what was to be read was not, or the tree could not be opened.
    passes: u32,
    /// Those at which something was refused that would be again.
    refusals: u32,
    /// When the run's lease was asked for that it has.
    leased_at: Instant,
}

/// Its conversation, once this process is the one that writes it: the process before could still write it meanwhile. The
/// transcript takes whoever comes last for the one that writes, so nobody whose lease may have lapsed comes.
pub(super) async fn conversation(
    live: &Live,
    run: &Reclaimed,
    patience: &mut Patience,
) -> Result<Result<Transcript, Refused>, StoreError> {
    let (id, owner) = (&run.row.run_id, live.owner(&run.row.run_id));
    let leased_at = patience.leased_at;
    let read = Policy::STATE.run(id, || async {
        if leased_at.elapsed() >= RELIED_ON {
            let message = "its lease may lapse before its conversation changes hands".to_owned();
            return Err(StoreError { kind: StoreErrorKind::Transient, message });
        }
        live.transcripts().set_owner(&owner).await?;
        live.transcripts().read(id).await
    });
    patience.judge(live, &owner, read.await).await
}

/// Its events.
pub(super) async fn events(
    live: &Live,
    run: &RunId,
    patience: &mut Patience,
) -> Result<Result<Vec<Value>, Refused>, StoreError> {
    let read = Policy::STATE.run(run, || live.ledger().live_events(run)).await;
    patience.judge(live, &live.owner(run), read).await
}

impl Patience {
    /// For a run whose lease was asked for then.
    pub(super) fn since(leased_at: Instant) -> Self {
        Self { passes: 0, refusals: 0, leased_at }
    }

    /// Counts an attempt that came to nothing.
    pub(super) fn count(&mut self, error: &StoreError) {
        if error.kind == StoreErrorKind::Refused {
            self.refusals += 1;
        }
    }

    /// Whether the run's record is not to be had with its events.
    pub(super) const fn is_record_refused(&self) -> bool {
        self.refusals >= REFUSALS
    }

    /// Whether what keeps the run from going on is waited for: a disk that fails for a moment costs no run.
    pub(super) fn outlasts(&mut self, refused: &Refused) -> bool {
        let is_passing = matches!(refused, Refused::Disk(_));
        self.passes += u32::from(is_passing);
        is_passing && self.passes < PASSES
    }

    /// Whether the run is this process's still, for long enough to do something for it.
    pub(super) async fn keeps(&mut self, live: &Live, owner: &Owner) -> Result<bool, StoreError> {
        if self.leased_at.elapsed() < RELIED_ON { Ok(true) } else { self.extend(live, owner).await }
    }

    /// Extends the run's lease; false when the run is another process's.
    async fn extend(&mut self, live: &Live, owner: &Owner) -> Result<bool, StoreError> {
        let asked_at = Instant::now();
        let beat = live.ledger().heartbeat(owner, LEASE).await?;
        let is_ours = matches!(beat, Owned::Done(_));
        if is_ours {
            self.leased_at = asked_at;
        }
        Ok(is_ours)
    }

    /// What was read, or why that is given up; an error when it is to be read again. The run's lease is extended
    /// meanwhile, or another process would begin anew.
    async fn judge<T>(
        &mut self,
        live: &Live,
        owner: &Owner,
        read: Result<T, StoreError>,
    ) -> Result<Result<T, Refused>, StoreError> {
        let error = match read {
            Ok(read) => return Ok(Ok(read)),
            Err(error) if error.kind != StoreErrorKind::Transient => return Ok(Err(Refused::Unread(error))),
            Err(error) => error,
        };
        match self.extend(live, owner).await {
            Ok(true) => self.passes += 1,
            Ok(false) => return Ok(Err(Refused::Lost)),
            // Nothing answers: that says nothing of this run.
            Err(_) => return Err(error),
        }
        if self.passes < PASSES { Err(error) } else { Ok(Err(Refused::Unread(error))) }
    }
}
