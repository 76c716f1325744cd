//! Writes a run's records: a provisional one at its start, the final one after its reply.
//!
//! A final write never loses to a provisional one: once it is due, the provisional write stands down, and the
//! final put begins only when the provisional attempt under way has settled (state-worker supplement 10.4).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ars_runs::RunRecord;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ports::{RunStore, StoreError, StoreErrorKind};

/// Waits before the second and third attempt (document 2 section 7), each taken times 0.5 to 1.5.
const RETRY_WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

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

    /// Writes the final record; false when it was lost, which is logged and counted.
    pub async fn finish(&self, provisional: Provisional, record: RunRecord) -> bool {
        provisional.stand_down.cancel();
        // A panicked provisional write has nothing left under way either.
        drop(provisional.task.await);
        match put(&*self.store, &record, &CancellationToken::new()).await {
            Ok(()) => true,
            Err(error) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                tracing::error!(run = %record.id, status = %record.status, error = %error, "run record lost");
                false
            }
        }
    }
}

/// Puts with the retries that the failure's class deserves, unless told to stand down.
async fn put(
    store: &dyn RunStore,
    record: &RunRecord,
    stand_down: &CancellationToken,
) -> Result<(), StoreError> {
    let mut waits = RETRY_WAITS.iter();
    loop {
        if stand_down.is_cancelled() {
            return Ok(());
        }
        let error = match store.put(record).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let wait = match (error.kind, waits.next()) {
            (StoreErrorKind::Transient, Some(wait)) => jittered(*wait),
            _ => return Err(error),
        };
        tracing::warn!(run = %record.id, error = %error, wait_ms = wait.as_millis() as u64, "run record not written yet");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stand_down.cancelled() => return Ok(()),
        }
    }
}

/// The wait times 0.5 to 1.5; without randomness, the wait as it is.
fn jittered(wait: Duration) -> Duration {
    let mut byte = [0];
    match getrandom::fill(&mut byte) {
        Ok(()) => wait.mul_f64(0.5 + f64::from(byte[0]) / 255.0),
        Err(_) => wait,
    }
}
