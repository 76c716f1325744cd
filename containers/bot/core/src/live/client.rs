//! A process's client: claims, tracked runs, and final records.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Claim, Clock, Ledger, Owned, StoreError, StoreErrorKind, Stored, Transcripts};
use ars_runs::RunRecord;
use ars_types::{Generation, RunId};
use ars_wire::{
    idempotency::{FirstUse, IdempotencyKey},
    ledger::{Holder, NewRun, Owner},
};
use tokio::sync::Notify;

use super::{
    LiveListing,
    cursor::FlushCursor,
    limits::{BATCH_EVENTS, CLAIM_TIMEOUT},
    rows::LiveRows,
};
use crate::registry::RunHandle;

/// The stores behind a ledger.
#[derive(Clone)]
pub struct LiveStores {
    /// Ledger of live runs.
    pub ledger: Arc<dyn Ledger>,
    /// The live runs' conversations.
    pub transcripts: Arc<dyn Transcripts>,
}

/// This process's live runs in the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Live {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) ledger: Arc<dyn Ledger>,
    transcripts: Arc<dyn Transcripts>,
    pub(super) generation: Generation,
    rows: LiveRows,
    /// Ordered by id, so that every process locks a flush's rows in the same order.
    cursors: Mutex<BTreeMap<RunId, Arc<FlushCursor>>>,
    /// Starts a flush early.
    pub(super) nudge: Arc<Notify>,
}

/// How a claim was answered.
pub enum Claimed {
    /// This generation owns the run.
    Granted,
    /// The ledger did not answer or lacks the route. The run continues and ends with the process.
    /// The ledger may have it nevertheless ([`Live::track_unconfirmed`]).
    Unconfirmed,
    /// The ledger rejects the request, and would reject it again. It has no row for the run.
    Rejected,
    /// Another process owns the thread's run.
    ThreadLive(Holder),
    /// An earlier request had the same idempotency key.
    Repeated(FirstUse),
}

impl Live {
    /// A client that tracks no run yet. [`Live::run`] starts the flush.
    pub fn new(stores: LiveStores, generation: Generation) -> Self {
        let LiveStores {
            ledger,
            transcripts,
        } = stores;
        let inner = Inner {
            ledger,
            transcripts,
            generation,
            rows: LiveRows::default(),
            cursors: Mutex::default(),
            nudge: Arc::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// This process's generation, used as the fencing token.
    pub fn generation(&self) -> &Generation {
        &self.inner.generation
    }

    pub(crate) fn ledger(&self) -> &dyn Ledger {
        &*self.inner.ledger
    }

    /// Returns every process's live runs, cached for a moment.
    pub(crate) async fn rows(&self, clock: &dyn Clock) -> LiveListing {
        self.inner.rows.get(self.ledger(), clock).await
    }

    /// Discards the cached rows after this process changed something.
    pub(crate) async fn forget_rows(&self) {
        self.inner.rows.invalidate().await;
    }

    pub(crate) fn transcripts(&self) -> &dyn Transcripts {
        &*self.inner.transcripts
    }

    /// Claims a run on the thread. `run` carries this generation and lease.
    pub async fn claim(&self, run: &NewRun) -> Claimed {
        let error = match tokio::time::timeout(CLAIM_TIMEOUT, self.inner.ledger.claim(run)).await {
            Ok(Ok(Claim::Granted)) => return Claimed::Granted,
            Ok(Ok(Claim::ThreadLive(holder))) => return Claimed::ThreadLive(holder),
            Ok(Ok(Claim::Repeated(first))) => return Claimed::Repeated(first),
            Ok(Err(error)) if error.kind == StoreErrorKind::Refused => {
                tracing::warn!(run = %run.run_id, %error, "claim rejected: the request is not run");
                return Claimed::Rejected;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "no answer in time".to_owned(),
        };
        tracing::warn!(run = %run.run_id, error, "claim not answered: the run ends with this process");
        Claimed::Unconfirmed
    }

    /// Returns the first request with an idempotency key. An earlier version's store knows none.
    ///
    /// # Errors
    /// The store's errors.
    pub(crate) async fn first_use(
        &self,
        key: &IdempotencyKey,
    ) -> Result<Option<FirstUse>, StoreError> {
        let answer = tokio::time::timeout(CLAIM_TIMEOUT, self.inner.ledger.first_use(key)).await;
        match answer {
            Ok(Err(error)) if error.kind == StoreErrorKind::RouteMissing => Ok(None),
            Ok(answer) => answer,
            Err(_elapsed) => {
                let message = "no answer in time".to_owned();
                Err(StoreError {
                    kind: StoreErrorKind::Transient,
                    message,
                })
            }
        }
    }

    /// Adds a run to the flush.
    pub(super) fn insert(&self, run: &RunHandle, cursor: FlushCursor) -> Arc<FlushCursor> {
        let cursor = Arc::new(cursor);
        run.nudge_at_each(BATCH_EVENTS, &self.inner.nudge);
        self.cursors().insert(run.id().clone(), Arc::clone(&cursor));
        // An idle process's flush waits for nothing else, and the run's lease would expire.
        self.inner.nudge.notify_one();
        cursor
    }

    /// The runs that this process works on, including those that another process owns by now.
    pub(crate) fn at_work(&self) -> Vec<RunId> {
        self.cursors().keys().cloned().collect()
    }

    /// Aborts a run here that another process owns.
    pub(crate) fn fence_out(&self, run: &RunId) {
        let cursor = self.cursors().get(run).cloned();
        if let Some(cursor) = cursor {
            cursor.fence_out();
        }
    }

    /// Writes a run's record, which ends the live run, and removes the run from the flush.
    ///
    /// # Errors
    /// The store's errors. A refusal by the fence is a result.
    pub async fn finish(&self, record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        self.forget(&record.id);
        self.inner
            .ledger
            .finish(&self.owner(&record.id), record)
            .await
    }

    /// This process's fence for a run.
    pub(crate) fn owner(&self, run: &RunId) -> Owner {
        Owner {
            run_id: run.clone(),
            generation: self.inner.generation.clone(),
        }
    }

    /// Removes a run from the flush, so that the lease is no longer extended.
    pub(super) fn forget(&self, run: &RunId) {
        if let Some(cursor) = self.cursors().remove(run) {
            cursor.leave();
        }
    }

    pub(super) fn cursors(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<FlushCursor>>> {
        self.inner
            .cursors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the next attempt may succeed. The failed attempt may have taken effect.
pub(super) fn is_transient(error: &StoreError) -> bool {
    error.kind == StoreErrorKind::Transient
}
