//! A step in progress, and the parts that it may use.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_resident::daemon::{FailureKind, StepFailure, StepRequest};
use ars_resident::names::LockfileKey;
use ars_resident::plan::{Unprivileged, User};
use tokio::sync::MutexGuard;

use crate::{
    failure::{Context as _, Result, invalid},
    kept::AllKnown,
    running::Registry,
    runtime::Runtime,
    stop::Stop,
    trash::Trash,
};

/// Bytes that a step moved so far.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Returns the bytes.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds bytes.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The parts that all steps share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Steps in progress.
    pub(crate) registry: Registry,
    /// One installation for each key.
    pub(crate) installs: Mutex<HashMap<LockfileKey, Arc<tokio::sync::Mutex<()>>>>,
    /// The turn of the build user. Its steps could otherwise change each other's files and processes.
    /// It is taken before the lock of the mirror.
    pub(crate) builder: tokio::sync::Mutex<()>,
    /// The starts of the next checkpoints.
    pub(crate) known: AllKnown,
    /// Removed trees.
    pub(crate) trash: Trash,
    /// The client for archives.
    pub(crate) http: reqwest::Client,
}

/// A step in progress.
#[derive(Debug)]
pub(crate) struct StepContext<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) runtime: &'a Arc<Runtime>,
    pub(crate) request: &'a StepRequest,
    pub(crate) stop: Stop,
    pub(crate) progress: &'a Progress,
}

impl StepContext<'_> {
    /// Returns the unprivileged user of a step that works in a tree.
    pub(crate) fn tree_user(&self) -> Result<Unprivileged> {
        match self.request.step.user {
            User::Unprivileged(user) => Ok(user),
            User::Root(_) => Err(invalid("root does not work in trees")),
        }
    }

    /// Refuses a step of another user than root.
    pub(crate) fn require_root(&self) -> Result<()> {
        match self.request.step.user {
            User::Root(_) => Ok(()),
            User::Unprivileged(_) => Err(invalid("this operation is root's")),
        }
    }

    /// Runs work that blocks. It ends before the step, because it checks the step's stop.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stop = self.stop.clone();
        let done = tokio::task::spawn_blocking(move || work(&stop)).await;
        done.map_err(std::io::Error::from).context("task")?
    }
}

/// Waits for the lock of the mirror, or for the turn of the build user.
pub(crate) async fn lock<'a, T>(
    mutex: &'a tokio::sync::Mutex<T>,
    wait: &Stop,
) -> Result<MutexGuard<'a, T>> {
    wait.until(mutex.lock())
        .await
        .map_err(|failure| match failure.kind {
            FailureKind::Timeout => StepFailure::new(
                FailureKind::LockTimeout,
                "another step had the mirror or the build user for too long",
            ),
            _ => failure,
        })
}
