//! The daemon: accepts steps and performs them in the order they lock the mirror.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use ars_resident::daemon::{
    Answer, CancelRequest, CancelResponse, DiskRequest, Job, Status, StepEnd, StepFailure,
    StepRequest,
};
use ars_resident::disk::Sample;
use ars_resident::names::BackupId;
use ars_resident::plan::User;
use ars_resident::pool::POOL_USERS_MAX;
use tokio_util::sync::CancellationToken;

use crate::{
    archive, disk,
    failure::{OpenError, Result},
    git,
    runtime::Runtime,
    settings::{Mode, Settings},
    step::{Progress, Shared, StepContext, lock},
    steps,
    stop::Stop,
    trash::Trash,
};

/// Timeout for measuring the disk.
const DISK_TIMEOUT: Duration = Duration::from_secs(120);
/// Timeout for the search for torn checkpoints, which is tried once.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(60);

/// A single workspace's daemon.
#[derive(Debug)]
pub struct Daemon {
    runtime: Arc<Runtime>,
    /// Locks the mirror, and records whether it was searched for torn checkpoints. The lock is
    /// fair.
    mirror: tokio::sync::Mutex<bool>,
    shared: Shared,
}

impl Daemon {
    /// Prepares the workspace, and ends processes that an earlier daemon left in it.
    /// Trees that were removed are deleted in the background, so the caller is in a runtime.
    ///
    /// # Errors
    /// The workspace cannot be prepared, or a program is missing.
    pub fn open(settings: Settings) -> std::result::Result<Self, OpenError> {
        let runtime = Runtime::open(settings)?;
        git::write_settings(&runtime).map_err(OpenError::Workspace)?;
        steps::remove_debris(&runtime).map_err(OpenError::Workspace)?;
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| OpenError::Workspace(std::io::Error::other(error)))?;
        let trash = Trash::default();
        let runtime = Arc::new(runtime);
        trash.empty_soon(&runtime);
        let (registry, installs, builder, known) = Default::default();
        let shared = Shared {
            registry,
            installs,
            builder,
            known,
            trash,
            http,
        };
        Ok(Self {
            runtime,
            mirror: tokio::sync::Mutex::new(false),
            shared,
        })
    }

    /// Performs a step. The step's processes end before it does. `cancel` ends it.
    pub async fn perform(
        &self,
        request: &StepRequest,
        progress: &Progress,
        cancel: &CancellationToken,
    ) -> StepEnd {
        let start = Instant::now();
        let mut lock_wait = Duration::ZERO;
        let result = self
            .guarded(request, progress, cancel, &mut lock_wait)
            .await;
        StepEnd {
            result,
            lock_wait_ms: millis(lock_wait),
            duration_ms: millis(start.elapsed()),
        }
    }

    /// Cancels steps and waits until their processes ended.
    pub async fn cancel(&self, request: CancelRequest) -> CancelResponse {
        let is_included = |job: Job| match (request.job, job) {
            (Job::Cycle { attempt }, Job::Cycle { attempt: other }) => other <= attempt,
            (this, other) => this == other,
        };
        if let Job::Cycle { attempt } = request.job {
            self.shared.registry.fence(attempt);
        }
        CancelResponse {
            ended: self.shared.registry.end(is_included).await,
        }
    }

    /// Cancels all steps, refuses further ones, and waits until their processes ended.
    pub async fn cancel_all(&self) {
        self.shared.registry.close();
        self.shared.registry.end(|_| true).await;
        if let Mode::Host(confine) = &self.runtime.settings.mode {
            confine.end_shared(self.runtime.places.root());
        }
        self.shared.trash.close().await;
    }

    /// Returns the daemon's state.
    pub fn status(&self) -> Status {
        let (fenced_attempt, running) = self.shared.registry.list();
        Status {
            runtime: self.runtime.id.clone(),
            build: self.runtime.settings.build.clone(),
            pool_users: POOL_USERS_MAX,
            fenced_attempt,
            running,
        }
    }

    /// Measures the disk.
    ///
    /// # Errors
    /// The disk size cannot be read.
    pub async fn disk(&self, request: &DiskRequest) -> std::result::Result<Sample, StepFailure> {
        disk::sample(
            &self.runtime,
            request,
            &Stop::new(CancellationToken::new(), DISK_TIMEOUT),
        )
        .await
    }

    /// Returns an archive's path that the engine reads or writes.
    ///
    /// # Errors
    /// The path cannot be mapped.
    pub fn transfer_path(&self, backup: &BackupId) -> std::result::Result<PathBuf, StepFailure> {
        archive::transfer_path(&self.runtime, backup)
    }

    async fn guarded(
        &self,
        request: &StepRequest,
        progress: &Progress,
        cancel: &CancellationToken,
        lock_wait: &mut Duration,
    ) -> Result<Answer> {
        let registry = &self.shared.registry;
        let entry = registry.register(request.job, &request.step.name, cancel)?;
        if let Job::Cycle { attempt } = request.job {
            registry
                .end(|job| matches!(job, Job::Cycle { attempt: other } if other < attempt))
                .await;
        }
        let timeout = Duration::from_millis(u64::try_from(request.step.timeout_ms).unwrap_or(0));
        let start = Instant::now();
        let limit = request
            .lock_wait_ms
            .map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        let wait = Stop::new(entry.token.clone(), limit.unwrap_or(timeout));
        let _builder = match request.step.user == User::BUILD {
            true => Some(lock(&self.shared.builder, &wait).await?),
            false => None,
        };
        let mut lock = match request.step.needs_lock {
            true => Some(lock(&self.mirror, &wait).await?),
            false => None,
        };
        *lock_wait = start.elapsed();
        let context = |stop| StepContext {
            shared: &self.shared,
            runtime: &self.runtime,
            request,
            stop,
            progress,
        };
        if let Some(is_searched) = lock.as_deref_mut().filter(|is_searched| !**is_searched) {
            let search = context(Stop::new(entry.token.clone(), SEARCH_TIMEOUT));
            if let Err(failure) = steps::forget_torn(&search).await {
                tracing::warn!(?failure.kind, "the mirror was not searched for torn checkpoints");
            }
            *is_searched = !entry.token.is_cancelled();
        }
        let context = context(Stop::new(entry.token.clone(), timeout));
        let result = steps::perform(&context).await;
        drop(lock);
        result.map_err(|failure| StepFailure {
            free_kib: failure.free_kib.or_else(|| self.runtime.free_kib()),
            ..failure
        })
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
