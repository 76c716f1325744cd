//! Reading what the stores have of a run that was taken over (state-worker supplement sections 9.5 and 10).
//!
//! What cannot be read by then will not be read by whoever takes the run next: it is closed, and its thread is free. An
//! outage is no such failure. Not here: what is made of it (`ars_agent::resume`).

use ars_types::RunId;
use ars_wire::{
    ledger::{Owner, Reclaimed},
    transcript::Transcript,
};
use serde_json::Value;

use super::Refused;
use crate::{
    live::{LEASE, Live},
    ports::{Owned, StoreError, StoreErrorKind},
    retry::Policy,
};

/// How often what is stored of a run is read in vain while its ledger answers: a minute of an overloaded object, or some
/// minutes of answers that do not come in time.
const PASSES: u32 = 12;

/// Passes so far at which the ledger answered and what was to be read was not.
#[derive(Debug, Default)]
pub(super) struct Patience {
    passes: u32,
}

/// Its conversation, once this process is the one that writes it: the process before could still write it meanwhile.
pub(super) async fn conversation(
    live: &Live,
    run: &Reclaimed,
    patience: &mut Patience,
) -> Result<Result<Transcript, Refused>, StoreError> {
    let (id, owner) = (&run.row.run_id, live.owner(&run.row.run_id));
    let read = Policy::STATE.run(id, || async {
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
        match live.ledger().heartbeat(owner, LEASE).await {
            Ok(Owned::Done(_)) => self.passes += 1,
            Ok(Owned::Fenced | Owned::UnknownRun) => return Ok(Err(Refused::Lost)),
            // Nothing answers: that says nothing of this run.
            Err(_) => return Err(error),
        }
        if self.passes < PASSES { Err(error) } else { Ok(Err(Refused::Unread(error))) }
    }
}
