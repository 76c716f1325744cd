//! The steps in progress: old attempts are fenced out, and cancelled steps end.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use ars_resident::daemon::{FailureKind, Job, RunningStep, StepFailure};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::failure::Result;

/// The steps in progress.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    running: Mutex<Running>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Running {
    fenced: u64,
    is_closed: bool,
    next: u64,
    steps: BTreeMap<u64, StepEntry>,
}

#[derive(Debug)]
struct StepEntry {
    job: Job,
    name: String,
    since: Instant,
    token: CancellationToken,
}

/// A registered step. It is removed when dropped.
pub(crate) struct Registered<'a> {
    registry: &'a Registry,
    number: u64,
    pub(crate) token: CancellationToken,
}

impl Registry {
    /// Registers a step. A newer attempt fences out older attempts.
    pub(crate) fn register(
        &self,
        job: Job,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Registered<'_>> {
        let mut running = self.lock();
        if running.is_closed {
            return Err(StepFailure::new(
                FailureKind::Cancelled,
                "the disk is being removed",
            ));
        }
        if let Job::Cycle { attempt } = job {
            if attempt <= running.fenced {
                return Err(StepFailure::new(
                    FailureKind::Fenced,
                    "the attempt was fenced out",
                ));
            }
            running.fenced = running.fenced.max(attempt - 1);
        }
        running.next += 1;
        let (number, token) = (running.next, cancel.child_token());
        let entry = StepEntry {
            job,
            name: name.to_owned(),
            since: Instant::now(),
            token: token.clone(),
        };
        running.steps.insert(number, entry);
        Ok(Registered {
            registry: self,
            number,
            token,
        })
    }

    /// Fences out an attempt and all older attempts.
    pub(crate) fn fence(&self, attempt: u64) {
        let mut running = self.lock();
        running.fenced = running.fenced.max(attempt);
    }

    /// Refuses all further steps.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Returns the newest fenced attempt, and the steps in progress.
    pub(crate) fn list(&self) -> (u64, Vec<RunningStep>) {
        let running = self.lock();
        let steps = running.steps.values().map(|entry| RunningStep {
            job: entry.job,
            name: entry.name.clone(),
            elapsed_ms: i64::try_from(entry.since.elapsed().as_millis()).unwrap_or(i64::MAX),
        });
        (running.fenced, steps.collect())
    }

    /// Cancels steps, waits for their end, and returns their number.
    pub(crate) async fn end(&self, is_included: impl Fn(Job) -> bool) -> u32 {
        let tokens: Vec<_> = {
            let running = self.lock();
            let found = running
                .steps
                .values()
                .filter(|entry| is_included(entry.job));
            found.map(|entry| entry.token.clone()).collect()
        };
        tokens.iter().for_each(CancellationToken::cancel);
        self.until_none(is_included).await;
        u32::try_from(tokens.len()).unwrap_or(u32::MAX)
    }

    /// Waits until no such step is in progress.
    pub(crate) async fn until_none(&self, is_included: impl Fn(Job) -> bool) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Before the check, so that no end is missed.
            ended.as_mut().enable();
            if !self
                .lock()
                .steps
                .values()
                .any(|entry| is_included(entry.job))
            {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.registry.lock().steps.remove(&self.number);
        self.registry.ended.notify_waiters();
    }
}
