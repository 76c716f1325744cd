//! Writes a run's records: a provisional one at its start, the final one after its reply.
//!
//! A final write never loses to a provisional one, nor to that of a run which the drain's deadline leaves unfinished: once
//! it is due, they stand down, and the final put begins only when their attempt under way has settled (state-worker
//! supplement 10.4).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::{Owned, RunStore, StoreError, StoreErrorKind, metrics};
use ars_runs::{REFLECTION_COST, RunRecord, budget};
use ars_types::RunId;
use ars_wire::Moment;
use serde::Deserialize as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::is_provisional;
use crate::{
    live::{Live, Tracked},
    registry::RunHandle,
    retry::Policy,
};

/// Between two attempts to make up for a final record that an outage kept from the store.
const MAKE_UP_EVERY: Duration = Duration::from_secs(5);
/// For how long: as long as a drain may wait for it (document 2 section 8).
pub(crate) const MAKE_UP_FOR: Duration = Duration::from_secs(15 * 60);

/// The writer of one process; counts what was lost.
#[derive(Clone)]
pub struct HistoryWriter {
    store: Arc<dyn RunStore>,
    lost: Arc<AtomicU64>,
    /// Held by the put of a run that the drain's deadline leaves unfinished. There are none before it.
    abandoned: Arc<Mutex<HashMap<RunId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// A final record that is due.
pub struct Final<'a> {
    /// Its run.
    pub run: &'a RunHandle,
    /// The record.
    pub record: &'a RunRecord,
    /// The ledger it goes through, if there is one.
    pub live: Option<&'a Live>,
    /// What the ledger took for the run is not known yet: each attempt hears it first, because the record takes the
    /// run's inbox away.
    pub unheard: Option<&'a Tracked>,
}

/// What became of a run's final record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// It is the run's record.
    Written,
    /// Another process has the run, or has ended it: its record counts.
    Anothers,
    /// No store took it.
    Lost,
}

/// A provisional write under way.
pub struct Provisional {
    task: JoinHandle<()>,
    stand_down: CancellationToken,
}

impl HistoryWriter {
    /// A writer to this store.
    pub fn new(store: Arc<dyn RunStore>) -> Self {
        Self { store, lost: Arc::default(), abandoned: Arc::default() }
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

    /// Writes the record of a run that is not to be waited for any longer; false when the run `is_over` first, whose final
    /// record then counts.
    pub async fn abandon(
        &self,
        record: &RunRecord,
        is_over: impl Fn() -> bool + Send + Sync,
    ) -> Result<bool, StoreError> {
        let putting = Arc::clone(self.abandoned().entry(record.id.clone()).or_default());
        let attempt = || async {
            let _alone = putting.lock().await;
            if is_over() {
                return Ok(false);
            }
            self.store.put(record).await.map(|_| true)
        };
        Policy::RECORD.run(&record.id, attempt).await
    }

    fn abandoned(&self) -> MutexGuard<'_, HashMap<RunId, Arc<tokio::sync::Mutex<()>>>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the final record, through the ledger if there is one. A loss is logged and counted.
    pub async fn finish(&self, provisional: Provisional, due: &Final<'_>) -> Finished {
        provisional.stand_down.cancel();
        // A panicked provisional write has nothing left under way either.
        drop(provisional.task.await);
        let Final { record, .. } = due;
        match Policy::RECORD.run(&record.id, || self.attempt(due)).await {
            Ok(finished) => finished,
            Err(error) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                metrics::record_lost();
                tracing::error!(run = %record.id, status = %record.status, error = %error, "run record lost");
                Finished::Lost
            }
        }
    }

    /// Writes a record that was lost after all: until then the ledger has the run as live, and the next process would
    /// go on with it.
    pub async fn make_up(&self, due: &Final<'_>) -> Finished {
        let began = tokio::time::Instant::now();
        while began.elapsed() < MAKE_UP_FOR {
            tokio::time::sleep(MAKE_UP_EVERY).await;
            if let Ok(finished) = self.attempt(due).await {
                self.lost.fetch_sub(1, Ordering::Relaxed);
                tracing::info!(run = %due.record.id, ?finished, "a run record that was lost is made up for");
                return finished;
            }
        }
        Finished::Lost
    }

    /// One attempt, behind the news that it waits for.
    async fn attempt(&self, due: &Final<'_>) -> Result<Finished, StoreError> {
        if let Some(tracked) = due.unheard
            && !tracked.last_news().await
        {
            let message = "what the ledger took for the run is not known".to_owned();
            return Err(StoreError { kind: StoreErrorKind::Transient, message });
        }
        // From here on no attempt to abandon the run begins, so that one which is under way is the last.
        due.run.recording();
        let abandoned = self.abandoned().get(&due.record.id).cloned();
        if let Some(putting) = abandoned {
            drop(putting.lock().await);
        }
        self.put_final(due.record, due.live).await
    }

    /// Adds to the record of a run that is over what reflecting on it has cost. A record that is not there, such as one
    /// deleted meanwhile, or is another process's, stays as it is.
    pub async fn add_reflection(&self, mut record: RunRecord, microusd: u64) {
        record.extra.insert(REFLECTION_COST.to_owned(), microusd.into());
        let record = budget::fit(record);
        let put = || async {
            let stored = self.store.summary(&record.id).await?;
            let finished_at =
                stored.as_ref().and_then(|stored| Moment::deserialize(&stored["finishedAt"]).ok());
            if finished_at == Some(Moment::from(record.finished_at)) {
                self.store.put(&record).await?;
            }
            Ok(())
        };
        if let Err(error) = Policy::RECORD.run(&record.id, put).await {
            tracing::warn!(run = %record.id, microusd, error = %error, "a reflection's cost is not recorded");
        }
    }

    /// A run that was not tracked may be in the ledger all the same, where the answer to its claim was lost.
    async fn put_final(&self, record: &RunRecord, live: Option<&Live>) -> Result<Finished, StoreError> {
        let Some(live) = live else { return self.put(record).await };
        match live.finish(record).await {
            Ok(Owned::Done(_)) => Ok(Finished::Written),
            Ok(Owned::Fenced) => Ok(Finished::Anothers),
            Ok(Owned::UnknownRun) => match self.store.get(&record.id).await? {
                // Ours, its answer lost; or that of another process, which ended the run at another moment.
                Some(stored) if !is_provisional(&stored) => {
                    let is_ours = stored.finished_at == record.finished_at;
                    Ok(if is_ours { Finished::Written } else { Finished::Anothers })
                }
                _ => self.put(record).await,
            },
            Err(error) if error.kind == StoreErrorKind::Transient => Err(error),
            Err(_) => self.put(record).await,
        }
    }

    async fn put(&self, record: &RunRecord) -> Result<Finished, StoreError> {
        self.store.put(record).await.map(|_| Finished::Written)
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
