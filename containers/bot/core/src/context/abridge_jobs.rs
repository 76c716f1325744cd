//! This process's jobs that abridge reviews: at most one per run.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ars_codehost::review::{Abridged, Abridgement, Job};
use ars_types::{RunId, UnixMillis};
use tokio::sync::watch;

/// Maximum number of ended jobs to remember.
const MAX_ENDED_JOBS: usize = 200;

/// All abridge jobs of this process.
#[derive(Default)]
pub(crate) struct AbridgeJobs(Mutex<Jobs>);

/// The jobs by run, locked.
#[derive(Default)]
pub(crate) struct Jobs {
    by_run: BTreeMap<RunId, watch::Receiver<JobState>>,
    /// Ended jobs, oldest first.
    started: Vec<RunId>,
}

/// A job's state.
#[derive(Debug, Clone)]
pub(crate) enum JobState {
    Running { started_at: UnixMillis },
    Failed { reason: String, at: UnixMillis },
    Done { artifact: Abridged },
}

impl AbridgeJobs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a run's job state.
    pub(crate) fn state(&self, run: &RunId) -> Abridgement {
        let state = self
            .lock()
            .by_run
            .get(run)
            .map(|state| state.borrow().clone());
        state.map_or(Abridgement::Absent, JobState::into_abridgement)
    }

    /// Waits until a run's job has ended.
    pub(crate) fn finished(&self, run: &RunId) -> impl Future<Output = Abridgement> + Send + use<> {
        let state = self.lock().by_run.get(run).cloned();
        async move {
            let Some(mut state) = state else {
                return Abridgement::Absent;
            };
            let ended = state
                .wait_for(|state| !matches!(state, JobState::Running { .. }))
                .await;
            // A job that panicked leaves the last state.
            let ended = ended.map(|state| state.clone());
            ended.map_or(Abridgement::Absent, JobState::into_abridgement)
        }
    }
}

impl Jobs {
    /// Returns a run's job, for deciding about a call. A finished job is in the record.
    pub(crate) fn job(&self, run: &RunId) -> Job {
        match self.by_run.get(run).map(|state| state.borrow().clone()) {
            Some(JobState::Running { started_at }) => Job::Running { started_at },
            Some(JobState::Failed { reason, at }) => Job::Failed { reason, at },
            Some(JobState::Done { .. }) | None => Job::None,
        }
    }

    /// Records that a job starts. The sender receives the job's end.
    pub(crate) fn start(&mut self, run: &RunId, now: UnixMillis) -> watch::Sender<JobState> {
        let sender = watch::Sender::new(JobState::Running { started_at: now });
        self.by_run.insert(run.clone(), sender.subscribe());
        self.started.retain(|known| known != run);
        self.started.push(run.clone());
        if self.started.len() > MAX_ENDED_JOBS {
            let is_ended = |run: &RunId| !matches!(self.job(run), Job::Running { .. });
            if let Some(at) = self.started.iter().position(is_ended) {
                self.by_run.remove(&self.started.remove(at));
            }
        }
        sender
    }
}

impl JobState {
    fn into_abridgement(self) -> Abridgement {
        match self {
            Self::Running { started_at } => Abridgement::Running { started_at },
            Self::Failed { reason, at } => Abridgement::Failed { reason, at },
            Self::Done { artifact } => Abridgement::Done {
                reused: false,
                artifact,
            },
        }
    }
}
