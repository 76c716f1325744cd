//! The run list as it changes, for a single viewer.

use std::{collections::BTreeMap, time::Duration};

use ars_auth::Viewer;
use ars_types::RunId;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

use super::{Queries, RunFilter, RunSummary, list::Shown};
use crate::{context::RunContext, registry::IndexChange};

/// Interval for comparing other processes' live runs, and for dropping expired ones from the registry.
const REFRESH_EVERY: Duration = Duration::from_secs(20);

/// A change in the run list.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The run is new or has changed.
    Upsert(Box<RunSummary>),
    /// The run has left the list.
    Removed(RunId),
}

/// Follows the list for a single viewer. The first batch is the whole list, newest first.
pub struct Changes {
    context: RunContext,
    viewer: Viewer,
    filter: RunFilter,
    local: Receiver<IndexChange>,
    /// The runs shown so far: the viewer never learns that another run was removed.
    shown: BTreeMap<RunId, RunSummary>,
    refresh: Interval,
    is_first: bool,
}

impl Queries {
    /// Returns the list's changes from now on, without runs that the filter excludes.
    pub fn changes(&self, viewer: Viewer, filter: RunFilter) -> Changes {
        let mut refresh = interval_at(Instant::now() + REFRESH_EVERY, REFRESH_EVERY);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Changes {
            // Subscribed before the list is read, so that no change is missed.
            local: self.context.registry().subscribe_index(),
            context: self.context.clone(),
            viewer,
            filter,
            shown: BTreeMap::new(),
            refresh,
            is_first: true,
        }
    }
}

impl Changes {
    /// Returns the next changes, or `None` once the process ends.
    pub async fn next(&mut self) -> Option<Vec<Change>> {
        loop {
            let changes = if std::mem::take(&mut self.is_first) {
                self.compare().await
            } else {
                tokio::select! {
                    change = self.local.recv() => match change {
                        Ok(IndexChange::Upsert(id)) => self.upserted(&id),
                        // A run that left this process may be live in another. After missed changes any run may have
                        // changed.
                        Ok(IndexChange::Removed(_)) | Err(RecvError::Lagged(_)) => self.compare().await,
                        Err(RecvError::Closed) => return None,
                    },
                    _ = self.refresh.tick() => self.compare().await,
                }
            };
            if !changes.is_empty() {
                return Some(changes);
            }
        }
    }

    /// Compares the whole list with the runs shown so far. A partial list removes no live run.
    async fn compare(&mut self) -> Vec<Change> {
        let Shown {
            mut runs,
            is_partial,
        } = Queries::new(self.context.clone()).shown(&self.viewer).await;
        runs.retain(|run| self.filter.allows(run));
        let is_gone = |shown: &&RunSummary| {
            (!is_partial || shown.finished.is_some()) && !runs.iter().any(|run| run.id == shown.id)
        };
        let gone: Vec<RunId> = self
            .shown
            .values()
            .filter(is_gone)
            .map(|run| run.id.clone())
            .collect();
        let mut changes: Vec<Change> = gone.iter().filter_map(|id| self.removed(id)).collect();
        changes.extend(runs.into_iter().filter_map(|run| self.upsert(run)));
        changes
    }

    fn upserted(&mut self, id: &RunId) -> Vec<Change> {
        let run = self
            .context
            .registry()
            .get(id)
            .map(|run| RunSummary::of_live(&run));
        let run = run.filter(|run| run.is_readable(&self.viewer) && self.filter.allows(run));
        run.and_then(|run| self.upsert(run)).into_iter().collect()
    }

    fn upsert(&mut self, run: RunSummary) -> Option<Change> {
        let before = self.shown.insert(run.id.clone(), run.clone());
        (before.as_ref() != Some(&run)).then(|| Change::Upsert(Box::new(run)))
    }

    fn removed(&mut self, id: &RunId) -> Option<Change> {
        self.shown.remove(id).map(|run| Change::Removed(run.id))
    }
}
