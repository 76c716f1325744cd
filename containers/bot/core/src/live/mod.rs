//! The bot's side of the live-run ledger: what makes a run outlast its process (document 2 section 3.3, state-worker
//! supplement sections 9 to 11).
//!
//! One [`Live`] stands for this process and its generation. A run that is claimed is a [`Tracked`]: its driver stores
//! each step through it before any side effect, and takes the right to reply from it. The flush loop carries the
//! events of all tracked runs, extends their leases, and brings back stops and follow-ups that came another way.
//!
//! Not here: the store (`ars_runs` behind a port), resuming what another process left (`resume`), and retries of single
//! requests (the stores' adapter).

mod conversation;
mod flush;
mod listening;
mod meta;
mod slot;
mod tracked;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ars_bot_ports::{Claim, Ledger, Owned, StoreError, StoreErrorKind, Stored, Transcripts};
use ars_runs::RunRecord;
use ars_types::{Generation, RunId};
use ars_wire::ledger::{Holder, LEASE_MS, NewRun, Owner};
use tokio::sync::Notify;

use crate::{registry::RunHandle, threads::Mailbox};
use slot::Slot;

pub(crate) use conversation::transcript_size;
pub use listening::Listening;
pub use meta::Meta;
pub use tracked::{Gate, Step, Stepped, Tracked};
pub(crate) use tracked::{HEAD, MEMORY, REPLIED, VIEW_TOKEN};

/// The stores behind a ledger.
#[derive(Clone)]
pub struct LiveStores {
    /// Live runs.
    pub ledger: Arc<dyn Ledger>,
    /// Their conversations.
    pub transcripts: Arc<dyn Transcripts>,
}

/// The live runs of this process in the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Live {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Arc<dyn Ledger>,
    transcripts: Arc<dyn Transcripts>,
    generation: Generation,
    /// By id, so that a flush carries them in the same order whatever the process.
    slots: Mutex<BTreeMap<RunId, Arc<Slot>>>,
    /// There is something to flush at once.
    nudge: Arc<Notify>,
}

/// What became of a claim.
pub enum Claimed {
    /// The run is in the ledger, and this generation's.
    Granted,
    /// The ledger did not answer, or lacks the route: the run goes on, and dies with this process. It may be in the
    /// ledger all the same ([`Live::listen`]).
    Untracked,
    /// Another process drives the thread's run.
    ThreadLive(Holder),
}

impl Live {
    /// Nothing is tracked yet. Flushing begins with [`Live::run`].
    pub fn new(stores: LiveStores, generation: Generation) -> Self {
        let LiveStores { ledger, transcripts } = stores;
        let inner = Inner { ledger, transcripts, generation, slots: Mutex::default(), nudge: Arc::default() };
        Self { inner: Arc::new(inner) }
    }

    /// This process's generation, its fencing token.
    pub fn generation(&self) -> &Generation {
        &self.inner.generation
    }

    /// The ledger.
    pub(crate) fn ledger(&self) -> &dyn Ledger {
        &*self.inner.ledger
    }

    /// The conversations.
    pub(crate) fn transcripts(&self) -> &dyn Transcripts {
        &*self.inner.transcripts
    }

    /// Claims a run on its thread. `run` carries this generation and lease.
    pub async fn claim(&self, run: &NewRun) -> Claimed {
        let error = match tokio::time::timeout(CLAIM_PATIENCE, self.inner.ledger.claim(run)).await {
            Ok(Ok(Claim::Granted)) => return Claimed::Granted,
            Ok(Ok(Claim::ThreadLive(holder))) => return Claimed::ThreadLive(holder),
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "no answer in time".to_owned(),
        };
        tracing::warn!(run = %run.run_id, error, "run not tracked: it would not outlast this process");
        Claimed::Untracked
    }

    /// Tracks a run that was claimed or taken over: from now on it is flushed. Its events up to `flushed` are in the
    /// ledger already. Those that it has now are its head: they are stored with its first step at the latest, so that a
    /// run that goes on elsewhere still says what it was asked.
    pub fn track(&self, run: &RunHandle, mailbox: &Mailbox, flushed: u64) -> Tracked {
        let owner = self.owner(run.id());
        let slot = Arc::new(Slot::new(owner, run.feed(), mailbox.clone(), flushed));
        run.nudge_at_each(flush::BATCH_EVENTS, &self.inner.nudge);
        self.slots().insert(run.id().clone(), Arc::clone(&slot));
        self.inner.nudge.notify_one();
        Tracked::new(self.clone(), slot, run.token(), run.last_seq())
    }

    /// Listens for a run whose claim was not answered.
    pub fn listen(&self, run: &RunHandle, mailbox: &Mailbox) -> Listening {
        let slot = Arc::new(Slot::in_doubt(self.owner(run.id()), run.feed(), mailbox.clone()));
        run.nudge_at_each(flush::BATCH_EVENTS, &self.inner.nudge);
        self.slots().insert(run.id().clone(), Arc::clone(&slot));
        // An idle process's flush waits for nothing else: the run's lease would lapse, and nobody would hear it.
        self.inner.nudge.notify_one();
        Listening::new(self.clone(), slot)
    }

    /// The runs that this process is at work on, whoever the ledger says has them now.
    pub(crate) fn at_work(&self) -> Vec<RunId> {
        self.slots().keys().cloned().collect()
    }

    /// The ledger says that a run is another process's now: whatever drives it here stops.
    pub(crate) fn let_go(&self, run: &RunId) {
        let slot = self.slots().get(run).cloned();
        if let Some(slot) = slot {
            slot.lose();
        }
    }

    /// Writes a run's record and ends the live run; no flush carries it any more.
    pub async fn finish(&self, record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        self.forget(&record.id);
        self.inner.ledger.finish(&self.owner(&record.id), record).await
    }

    /// The owner that this process is of a run.
    pub(crate) fn owner(&self, run: &RunId) -> Owner {
        Owner { run_id: run.clone(), generation: self.inner.generation.clone() }
    }

    /// Gives a run that this process does not drive up to whoever looks after the lease.
    fn forget(&self, run: &RunId) {
        self.slots().remove(run);
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<Slot>>> {
        self.inner.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a request waits for its claim, all attempts together: a requester waits with it.
pub(crate) const CLAIM_PATIENCE: Duration = Duration::from_secs(5);

/// How long a lease lasts from each flush that extends it, in milliseconds.
pub(crate) const LEASE: u32 = LEASE_MS;

/// The store may have done it, or may do it at the next attempt.
fn is_transient(error: &StoreError) -> bool {
    error.kind == StoreErrorKind::Transient
}
