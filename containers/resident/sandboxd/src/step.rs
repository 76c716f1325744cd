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
    /// Returns the bytes counted so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The parts that all steps share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Steps in progress.
    pub(crate) registry: Registry,
    /// Locks by key, for a single installation at a time.
    pub(crate) installs: Mutex<HashMap<LockfileKey, Arc<tokio::sync::Mutex<()>>>>,
    /// The build user's turn. Steps could otherwise change each other's files and processes. It is
    /// taken before the mirror's lock.
    pub(crate) builder: tokio::sync::Mutex<()>,
    /// Where next checkpoints start.
    pub(crate) known: AllKnown,
    /// Deletes removed trees.
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
    /// Returns the unprivileged user for a step that works in a tree.
    pub(crate) fn tree_user(&self) -> Result<Unprivileged> {
        match self.request.step.user {
            User::Unprivileged(user) => Ok(user),
            User::Root(_) => Err(invalid("root does not work in trees")),
        }
    }

    /// Refuses a step by any user but root.
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

/// Waits for the mirror's lock, or for the build user's turn.
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
