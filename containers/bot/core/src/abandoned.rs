//! What is written of runs that the drain's deadline leaves unfinished (state-worker supplement section 10.4).
//!
//! An `interrupted` record from everything they have said so far, written once and not for long: should another process
//! go on with such a run, its final record takes this one's place. Not here: runs that were handed off, which have left
//! the registry.

use std::time::Duration;

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
        let records: Vec<_> = unfinished
            .map(|run| {
                let end = RunEnd { status: RunStatus::Interrupted, finished_at, steps: None, cost: None };
                history::record(&run, end)
            })
            .collect();
        let puts = join_all(records.iter().map(|record| async {
            let put = tokio::time::timeout(BUDGET, self.store().put(record)).await;
            let failure = match put {
                Ok(Ok(_stored)) => return true,
                Ok(Err(error)) => error.to_string(),
                Err(_elapsed) => "no answer in time".to_owned(),
            };
            tracing::error!(run = %record.id, error = failure, "an abandoned run was not recorded");
            false
        }));
        puts.await.into_iter().filter(|is_recorded| *is_recorded).count()
    }
}
