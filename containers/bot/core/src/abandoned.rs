//! What is written of runs that the drain's deadline leaves unfinished (state-worker supplement section 10.4).
//!
//! An `interrupted` record from everything they have said so far, and not for long. Should such a run end meanwhile, or
//! another process go on with it, its final record takes this one's place. Not here: runs that were handed off, which have
//! left the registry.

use std::time::Duration;

use ars_runs::RunRecord;
use ars_types::RunStatus;
use futures::future::join_all;

use crate::{
    history::{self, RunEnd},
    service::Core,
};

/// How long all of it may take: the process is to be gone (the same section).
const BUDGET: Duration = Duration::from_secs(10);

impl Core {
    /// Records every run that is not finished as interrupted now; how many were.
    pub async fn record_abandoned(&self) -> usize {
        let finished_at = self.clock().now();
        let unfinished = self.registry().list().into_iter().filter(|run| run.finished.is_none());
        let records = unfinished.map(|run| {
            let end = RunEnd { status: RunStatus::Interrupted, finished_at, steps: None, cost: None };
            history::record(&run, end)
        });
        // Spawned: a put under way is never dropped, or it might reach the store behind the final one.
        let recording: Vec<_> =
            records.map(|record| tokio::spawn(self.clone().record_as_abandoned(record))).collect();
        let recorded = join_all(recording.into_iter().map(|one| tokio::time::timeout(BUDGET, one))).await;
        let late = recorded.iter().filter(|recorded| recorded.is_err()).count();
        if late > 0 {
            tracing::error!(runs = late, "abandoned runs were not recorded in time");
        }
        recorded.into_iter().filter(|recorded| matches!(recorded, Ok(Ok(true)))).count()
    }

    async fn record_as_abandoned(self, record: RunRecord) -> bool {
        let is_over = || self.registry().get(&record.id).is_none_or(|run| run.finished.is_some());
        match self.history().abandon(&record, is_over).await {
            Ok(is_recorded) => is_recorded,
            Err(error) => {
                tracing::error!(run = %record.id, error = %error, "an abandoned run was not recorded");
                false
            }
        }
    }
}
