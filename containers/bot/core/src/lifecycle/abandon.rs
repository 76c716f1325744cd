//! Tombstones for runs that the shutdown deadline cuts off (docs/reference/runs.md#tombstones).
//!
//! A run that is cut off gets an `interrupted` record with the events so far. A run that is over,
//! with a final record waiting for the ledger, gets a record of how it ended. A later final record
//! replaces either. Not here: runs that were handed off, which have left the registry.

use std::time::Duration;

use ars_agent::run_end::{Stage, Tombstone, recorded_status};
use ars_runs::RunRecord;
use ars_types::{RunId, RunStatus, UnixMillis};
use futures::future::join_all;

use crate::{
    context::RunContext,
    history::{self, RunTotals, is_provisional},
    registry::LiveRun,
    retry::Policy,
};

/// Timeout for all tombstones together, because the process is about to exit.
const TIMEOUT: Duration = Duration::from_secs(10);

impl RunContext {
    /// Writes tombstones for all runs that need them. Returns how many were written.
    pub(crate) async fn record_abandoned(&self) -> usize {
        let now = self.clock().now();
        // Spawned: a write in progress is never dropped, because it might reach the store behind the final record.
        let writes: Vec<_> = self
            .registry()
            .list()
            .into_iter()
            .filter_map(|run| {
                let tombstone = stage(&run).tombstone()?;
                let record = history::record(&run, totals(&run, now));
                Some(tokio::spawn(
                    self.clone().record_as_abandoned(record, tombstone),
                ))
            })
            .collect();
        let written = join_all(
            writes
                .into_iter()
                .map(|write| tokio::time::timeout(TIMEOUT, write)),
        )
        .await;
        let late = written.iter().filter(|written| written.is_err()).count();
        if late > 0 {
            tracing::error!(runs = late, "abandoned runs not recorded in time");
        }
        written
            .into_iter()
            .filter(|written| matches!(written, Ok(Ok(true))))
            .count()
    }

    async fn record_as_abandoned(self, record: RunRecord, tombstone: Tombstone) -> bool {
        if tombstone == Tombstone::Ended && self.may_be_recorded(&record.id).await {
            return false;
        }
        let is_outdated = || {
            self.registry()
                .get(&record.id)
                .is_none_or(|run| tombstone.is_outdated(stage(&run)))
        };
        match self.history().write_tombstone(&record, is_outdated).await {
            Ok(is_written) => is_written,
            Err(error) => {
                tracing::error!(run = %record.id, error = %error, "abandoned run not recorded");
                false
            }
        }
    }

    /// Returns whether another process may have ended the run while the ledger did not answer this
    /// process. Returns `true` when the store does not answer either.
    async fn may_be_recorded(&self, id: &RunId) -> bool {
        let stored = Policy::RECORD.run(id, || self.store().get(id)).await;
        match stored {
            Ok(stored) => stored.is_some_and(|stored| !is_provisional(&stored)),
            Err(error) => {
                tracing::error!(run = %id, error = %error, "stored record of an ended run not read");
                true
            }
        }
    }
}

fn stage(run: &LiveRun) -> Stage {
    if run.is_recording {
        Stage::Recording
    } else if run.sealed.is_some() {
        Stage::Sealed
    } else if run.finished.is_some() {
        Stage::Finished
    } else {
        Stage::Running
    }
}

/// How the run ended, or that it was cut off.
fn totals(run: &LiveRun, now: UnixMillis) -> RunTotals {
    let (finished_at, status) =
        run.finished
            .map_or((now, RunStatus::Interrupted), |(at, status)| {
                (
                    at,
                    recorded_status(status, run.sealed.and_then(|(_, reply_ok)| reply_ok)),
                )
            });
    RunTotals {
        status,
        finished_at,
        steps: None,
        cost: run.cost,
    }
}
