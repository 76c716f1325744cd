//! What is written of runs that the drain's deadline leaves unfinished (state-worker supplement section 10.4).
//!
//! An `interrupted` record from everything they have said so far, and not for long; of one that is over, and whose final
//! record waits for the ledger, a record of how it ended. Should such a run end meanwhile, or another process go on with
//! it, its final record takes this one's place. Not here: runs that were handed off, which have left the registry.

use std::time::Duration;

use ars_runs::RunRecord;
use ars_types::{RunId, RunStatus, UnixMillis};
use futures::future::join_all;

use crate::{
    conclude::final_status,
    context::RunContext,
    history::{self, RunEnd, is_provisional},
    registry::LiveRun,
    retry::Policy,
};

/// How long all of it may take: the process is to be gone (the same section).
const BUDGET: Duration = Duration::from_secs(10);

impl RunContext {
    /// Records every run that is not finished as interrupted now, and as it ended each whose final record is held up; how
    /// many were.
    pub(crate) async fn record_abandoned(&self) -> usize {
        let now = self.clock().now();
        let unrecorded = self.registry().list().into_iter().filter(is_unrecorded);
        let records =
            unrecorded.map(|run| (history::record(&run, end_of(&run, now)), run.finished.is_some()));
        // Spawned: a put under way is never dropped, or it might reach the store behind the final one.
        let recording: Vec<_> = records
            .map(|(record, is_over)| tokio::spawn(self.clone().record_as_abandoned(record, is_over)))
            .collect();
        let recorded = join_all(recording.into_iter().map(|one| tokio::time::timeout(BUDGET, one))).await;
        let late = recorded.iter().filter(|recorded| recorded.is_err()).count();
        if late > 0 {
            tracing::error!(runs = late, "abandoned runs were not recorded in time");
        }
        recorded.into_iter().filter(|recorded| matches!(recorded, Ok(Ok(true)))).count()
    }

    /// `was_over`: the record has how the run ended.
    async fn record_as_abandoned(self, record: RunRecord, was_over: bool) -> bool {
        let is_outdated = |run: LiveRun| run.is_recording || (run.finished.is_some() && !was_over);
        let is_over = || self.registry().get(&record.id).is_none_or(is_outdated);
        if was_over && self.is_recorded(&record.id).await {
            return false;
        }
        match self.history().abandon(&record, is_over).await {
            Ok(is_recorded) => is_recorded,
            Err(error) => {
                tracing::error!(run = %record.id, error = %error, "an abandoned run was not recorded");
                false
            }
        }
    }

    /// Another process, which the ledger could not tell this one of, has ended the run; in doubt it has.
    async fn is_recorded(&self, id: &RunId) -> bool {
        let stored = Policy::RECORD.run(id, || self.store().get(id)).await;
        match stored {
            Ok(stored) => stored.is_some_and(|stored| !is_provisional(&stored)),
            Err(error) => {
                tracing::error!(run = %id, error = %error, "whether a run is recorded is not known");
                true
            }
        }
    }
}

/// Neither has it a final record, nor is there one under way: of a run that is over the reply is through, and the ledger
/// has not said what it took for it.
fn is_unrecorded(run: &LiveRun) -> bool {
    !run.is_recording && (run.finished.is_none() || run.sealed.is_some())
}

/// How a run ended whose record is held up, or that it did not.
fn end_of(run: &LiveRun, now: UnixMillis) -> RunEnd {
    let (finished_at, status) = run.finished.map_or((now, RunStatus::Interrupted), |(at, status)| {
        (at, final_status(status, run.sealed.and_then(|(_, reply_ok)| reply_ok)))
    });
    RunEnd { status, finished_at, steps: None, cost: run.cost }
}
