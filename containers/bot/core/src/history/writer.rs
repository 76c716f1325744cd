//! Writes a run's records: a provisional one at its start, the final one after its reply.
//!
//! A final write never loses to a provisional one: once it is due, the provisional write stands down, and the
//! final put begins only when the provisional attempt under way has settled (state-worker supplement 10.4).

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use ars_runs::RunRecord;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    live::Tracked,
    metrics,
    ports::{RunStore, StoreError, StoreErrorKind},
    retry::Policy,
};

/// The writer of one process; counts what was lost.
#[derive(Clone)]
pub struct HistoryWriter {
    store: Arc<dyn RunStore>,
    lost: Arc<AtomicU64>,
}

/// A provisional write under way.
pub struct Provisional {
    task: JoinHandle<()>,
    stand_down: CancellationToken,
}

impl HistoryWriter {
    /// A writer to this store.
    pub fn new(store: Arc<dyn RunStore>) -> Self {
        Self { store, lost: Arc::default() }
    }

    /// Final records that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// A run whose provisional record another process wrote.
    pub fn begun() -> Provisional {
        Provisional { task: tokio::spawn(std::future::ready(())), stand_down: CancellationToken::new() }
    }

    /// Starts writing the provisional record; does not wait.
    pub fn begin(&self, record: RunRecord) -> Provisional {
        let stand_down = CancellationToken::new();
        let (store, stood_down) = (Arc::clone(&self.store), stand_down.clone());
        let task = tokio::spawn(async move {
            if let Err(error) = put(&*store, &record, &stood_down).await {
                // The final record will tell; a lost tombstone matters only if this process dies before.
                tracing::warn!(run = %record.id, error = %error, "provisional run record not written");
            }
        });
        Provisional { task, stand_down }
    }

    /// Writes the final record, through the ledger if the run is tracked; false when it was lost, which is logged and
    /// counted.
    pub async fn finish(
        &self,
        provisional: Provisional,
        record: RunRecord,
        tracked: Option<&Tracked>,
    ) -> bool {
        provisional.stand_down.cancel();
        // A panicked provisional write has nothing left under way either.
        drop(provisional.task.await);
        let attempt = || async {
            match tracked {
                Some(tracked) => match tracked.finish(&record).await {
                    Ok(Some(stored)) => Ok(stored),
                    // The live run is gone, or the store has no ledger: a put writes the same record, any number of times.
                    Ok(None) => self.store.put(&record).await,
                    Err(error) if error.kind == StoreErrorKind::RouteMissing => self.store.put(&record).await,
                    Err(error) => Err(error),
                },
                None => self.store.put(&record).await,
            }
        };
        match Policy::RECORD.run(&record.id, attempt).await.map(drop) {
            Ok(()) => true,
            Err(error) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                metrics::record_lost();
                tracing::error!(run = %record.id, status = %record.status, error = %error, "run record lost");
                false
            }
        }
    }
}

impl Provisional {
    /// No record of this run is to come from this process any more.
    pub fn stand_down(&self) {
        self.stand_down.cancel();
    }
}

/// Puts with the retries that the failure's class deserves, unless told to stand down.
async fn put(
    store: &dyn RunStore,
    record: &RunRecord,
    stand_down: &CancellationToken,
) -> Result<(), StoreError> {
    let attempt = || async {
        if stand_down.is_cancelled() {
            return Ok(());
        }
        store.put(record).await.map(drop)
    };
    Policy::RECORD.run_hurried(&record.id, stand_down, attempt).await
}
