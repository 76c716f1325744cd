//! Writes a run's records: provisional at the start, and final after the reply.
//!
//! A final record is never replaced by a provisional record or by a tombstone. Once it is due,
//! those stop retrying, and the final write begins only when an attempt in progress has settled
//! (docs/reference/runs.md#tombstones).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_agent::run_end::{FinalFlush, RecordWrite};
use ars_bot_ports::{Owned, RunStore, StoreError, StoreErrorKind, metrics};
use ars_runs::{REFLECTION_COST, RunRecord, budget};
use ars_types::RunId;
use tokio_util::sync::CancellationToken;

use super::is_provisional;
use crate::{
    live::{LedgerClaim, Live},
    registry::RunHandle,
    retry::Policy,
};

/// A process's record writer; counts lost records.
#[derive(Clone)]
pub struct HistoryWriter {
    store: Arc<dyn RunStore>,
    lost: Arc<AtomicU64>,
    /// Locked while a tombstone is written. There are none before the shutdown deadline.
    tombstones: Arc<Mutex<HashMap<RunId, Arc<tokio::sync::Mutex<()>>>>>,
    /// Locked while a final record is read, changed and written.
    amending: Arc<tokio::sync::Mutex<()>>,
}

/// A final record that is due.
pub struct FinalRecord<'a> {
    /// The run to record.
    pub run: &'a RunHandle,
    /// The final record to write.
    pub record: &'a RunRecord,
    /// The ledger, if the record ends a live run.
    pub live: Option<&'a Live>,
    /// Flushed before each attempt, because the record removes the run's inbox.
    pub flush_first: Option<&'a LedgerClaim>,
}

/// A provisional write in progress.
pub struct Provisional {
    stand_down: CancellationToken,
    settled: CancellationToken,
}

impl HistoryWriter {
    /// A writer to this store.
    pub fn new(store: Arc<dyn RunStore>) -> Self {
        Self {
            store,
            lost: Arc::default(),
            tombstones: Arc::default(),
            amending: Arc::default(),
        }
    }

    /// Number of final records that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Starts writing the provisional record, and does not wait for it.
    pub fn begin(&self, record: RunRecord) -> Provisional {
        let provisional = Provisional {
            stand_down: CancellationToken::new(),
            settled: CancellationToken::new(),
        };
        let store = Arc::clone(&self.store);
        let stand_down = provisional.stand_down.clone();
        let settled = provisional.settled.clone().drop_guard();
        tokio::spawn(async move {
            if let Err(error) = put(&*store, &record, &stand_down).await {
                // Only a process that dies before the final record then lacks a record.
                tracing::warn!(run = %record.id, error = %error, "provisional run record not written");
            }
            drop(settled);
        });
        provisional
    }

    /// Writes a tombstone that the shutdown does not await. Returns `false` when it was outdated
    /// first, or when history is off.
    ///
    /// # Errors
    /// The store's error, behind the retries.
    pub async fn write_tombstone(
        &self,
        record: &RunRecord,
        is_outdated: impl Fn() -> bool + Send + Sync,
    ) -> Result<bool, StoreError> {
        let lock = Arc::clone(self.tombstones().entry(record.id.clone()).or_default());
        let attempt = || async {
            let _guard = lock.lock().await;
            if is_outdated() {
                return Ok(false);
            }
            self.store.put(record).await.map(|put| put.stored)
        };
        Policy::RECORD.run(&record.id, attempt).await
    }

    fn tombstones(&self) -> MutexGuard<'_, HashMap<RunId, Arc<tokio::sync::Mutex<()>>>> {
        self.tombstones
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the final record, through the ledger if present. A loss is logged and counted.
    pub async fn finish(&self, provisional: &Provisional, due: &FinalRecord<'_>) -> RecordWrite {
        provisional.stand_down();
        provisional.settled.cancelled().await;
        let FinalRecord { record, .. } = due;
        match Policy::RECORD.run(&record.id, || self.attempt(due)).await {
            Ok(write) => write,
            Err(error) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                metrics::record_lost();
                tracing::error!(run = %record.id, status = %record.status, error = %error, "run record lost");
                RecordWrite::Lost
            }
        }
    }

    /// Tries once more to write a lost record.
    /// Until it is written the ledger has the run as live, and the next process would resume it.
    pub async fn retry_lost_record(&self, due: &FinalRecord<'_>) -> RecordWrite {
        let Ok(write) = self.attempt(due).await else {
            return RecordWrite::Lost;
        };
        self.lost.fetch_sub(1, Ordering::Relaxed);
        tracing::info!(run = %due.record.id, ?write, "lost run record written after all");
        write
    }

    async fn attempt(&self, due: &FinalRecord<'_>) -> Result<RecordWrite, StoreError> {
        if let Some(claim) = due.flush_first
            && claim.flush_before_record().await == FinalFlush::Failed
        {
            let message = "the run's inbox could not be read".to_owned();
            return Err(StoreError {
                kind: StoreErrorKind::Transient,
                message,
            });
        }
        // The run's tombstone writes never begin behind this, so a write in progress is the last.
        due.run.recording();
        let tombstone = self.tombstones().get(&due.record.id).cloned();
        if let Some(lock) = tombstone {
            drop(lock.lock().await);
        }
        self.put_final(due.record, due.live).await
    }

    /// Adds a run's reflection cost to the record. A record that was deleted or is another
    /// process's stays unchanged.
    pub async fn add_reflection(&self, record: &RunRecord, microusd: u64) {
        // The stored record may have been amended since.
        let add = |stored: &mut RunRecord| {
            let is_own = stored.finished_at == record.finished_at;
            if is_own {
                stored
                    .extra
                    .insert(REFLECTION_COST.to_owned(), microusd.into());
            }
            is_own
        };
        if let Err(error) = self.change(&record.id, add).await {
            tracing::warn!(run = %record.id, microusd, error = %error, "cost of a reflection not recorded");
        }
    }

    /// Changes a run's final record. Returns `false` if there is none.
    ///
    /// This process's amendments do not overwrite each other. Between two processes the later write
    /// wins (docs/reference/code-host.md#outcomes).
    ///
    /// # Errors
    /// The store's error, behind the retries.
    pub async fn amend(
        &self,
        id: &RunId,
        change: impl Fn(&mut RunRecord) + Send + Sync,
    ) -> Result<bool, StoreError> {
        let always = |record: &mut RunRecord| {
            change(record);
            true
        };
        self.change(id, always).await
    }

    /// Writes a run's final record if `change` returns `true`. Returns whether it was written.
    async fn change(
        &self,
        id: &RunId,
        change: impl Fn(&mut RunRecord) -> bool + Send + Sync,
    ) -> Result<bool, StoreError> {
        let _one_at_a_time = self.amending.lock().await;
        let amend = || async {
            let Some(mut record) = self
                .store
                .get(id)
                .await?
                .filter(|record| !is_provisional(record))
            else {
                return Ok(false);
            };
            if !change(&mut record) {
                return Ok(false);
            }
            self.store.put(&budget::fit(record)).await?;
            Ok(true)
        };
        Policy::RECORD.run(id, amend).await
    }

    /// Ends the live run where there is a ledger. The ledger may have an untracked run too, if the
    /// response to the claim was lost.
    async fn put_final(
        &self,
        record: &RunRecord,
        live: Option<&Live>,
    ) -> Result<RecordWrite, StoreError> {
        let Some(live) = live else {
            return self.put(record).await;
        };
        match live.finish(record).await {
            Ok(Owned::Done(_)) => Ok(RecordWrite::Written),
            Ok(Owned::Fenced) => Ok(RecordWrite::OwnedElsewhere),
            Ok(Owned::UnknownRun) => match self.store.get(&record.id).await? {
                // Either this record, from an attempt that got no response, or another owner's,
                // which ended the run at another time.
                Some(stored) if !is_provisional(&stored) => {
                    let is_ours = stored.finished_at == record.finished_at;
                    Ok(if is_ours {
                        RecordWrite::Written
                    } else {
                        RecordWrite::OwnedElsewhere
                    })
                }
                _ => self.put(record).await,
            },
            Err(error) if error.kind == StoreErrorKind::Transient => Err(error),
            Err(_) => self.put(record).await,
        }
    }

    async fn put(&self, record: &RunRecord) -> Result<RecordWrite, StoreError> {
        self.store.put(record).await.map(|_| RecordWrite::Written)
    }
}

impl Provisional {
    /// The provisional record for a run that another process wrote.
    pub fn settled() -> Self {
        let provisional = Self {
            stand_down: CancellationToken::new(),
            settled: CancellationToken::new(),
        };
        provisional.settled.cancel();
        provisional
    }

    /// Stops retrying the write.
    pub fn stand_down(&self) {
        self.stand_down.cancel();
    }
}

/// Writes a provisional record, with retries until it stands down.
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
    Policy::RECORD
        .run_hurried(&record.id, stand_down, attempt)
        .await
}
