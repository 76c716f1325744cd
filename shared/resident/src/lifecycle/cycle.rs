//! A cycle's durable row: current step, following steps, lease, attempt and findings.

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use super::protocol::{Found, Step};
use crate::names::{LockfileKey, Sha};

/// Time beyond a step's budget after which the step counts as lost.
const LEASE_MARGIN_MS: i64 = 30_000;
/// Maximum runs per step: with the backoff they outlast a ten-minute rollout.
pub(super) const STEP_ATTEMPTS: u32 = 8;
/// Maximum backoff before a lost step runs again.
const RETRY_BACKOFF_MAX_MS: i64 = 160_000;
/// Backoff before a step's second run.
const RETRY_BACKOFF_MS: i64 = 5_000;
/// Time without arriving bytes after which a restore has stalled.
pub(super) const RESTORE_STALL_TIMEOUT_MS: i64 = 120_000;

/// What a cycle does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CycleKind {
    /// From the code host to a warm tree.
    Provision,
    /// Follow the default branch.
    Refresh,
    /// From the snapshot to a warm tree.
    Restore,
    /// Save a new snapshot of the tree as it is, because the code host did not respond.
    Save,
}

/// A cycle in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    pub(super) kind: CycleKind,
    pub(super) started_at: UnixMillis,
    pub(super) step: Step,
    pub(super) rest: Vec<Step>,
    pub(super) attempt: u64,
    /// How often the current step ran.
    pub(super) tries: u32,
    pub(super) lease_until: UnixMillis,
    /// When the current step started. An earlier version did not store it.
    #[serde(default)]
    pub(super) begun_at: Option<UnixMillis>,
    /// When a lost step runs next.
    pub(super) retry_at: Option<UnixMillis>,
    /// Deadline for the whole cycle.
    pub(super) deadline: Option<UnixMillis>,
    /// Bytes in the current transfer and the time when they last grew.
    pub(super) bytes: u64,
    pub(super) bytes_at: UnixMillis,
    /// When the last step started or ended.
    pub(super) touched_at: UnixMillis,
    /// Trees on the disk may have unsaved work, so the container may not be stopped.
    pub(super) has_unsaved: bool,
    pub(super) found: Found,
}

impl Cycle {
    /// Makes a cycle that has not started the first step.
    pub(super) fn new(kind: CycleKind, steps: &[Step], now: UnixMillis) -> Self {
        let (first, rest) = steps.split_first().unwrap_or((&Step::Inspect, &[]));
        Self {
            kind,
            started_at: now,
            step: *first,
            rest: rest.to_vec(),
            attempt: 0,
            tries: 0,
            lease_until: now,
            begun_at: None,
            retry_at: None,
            deadline: None,
            bytes: 0,
            bytes_at: now,
            touched_at: now,
            has_unsaved: true,
            found: Found::default(),
        }
    }

    /// Returns the cycle's kind.
    pub const fn kind(&self) -> CycleKind {
        self.kind
    }

    /// Returns the current step.
    pub const fn step(&self) -> Step {
        self.step
    }

    /// Returns the current step's attempt.
    pub const fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Returns the branch that the cycle follows, if it is known yet.
    pub const fn git_ref(&self) -> Option<&StrictRefName> {
        self.found.git_ref.as_ref()
    }

    /// Returns the commit that the cycle found or verified.
    pub const fn sha(&self) -> Option<&Sha> {
        self.found.sha.as_ref()
    }

    /// Returns the lockfile key that the cycle found.
    pub const fn lockfile_key(&self) -> Option<&LockfileKey> {
        self.found.key.as_ref()
    }

    /// Starts the current step under an attempt.
    pub(super) fn begin(&mut self, attempt: u64, budget_ms: i64, now: UnixMillis) {
        self.attempt = attempt;
        self.tries += 1;
        self.retry_at = None;
        self.lease_until = now + budget_ms + LEASE_MARGIN_MS;
        self.begun_at = Some(now);
        self.bytes_at = now;
        self.touched_at = now;
    }

    /// Moves to the next step. Returns `false` after the last step.
    pub(super) fn advance(&mut self) -> bool {
        self.tries = 0;
        self.bytes = 0;
        match self.rest.is_empty() {
            true => false,
            false => {
                self.step = self.rest.remove(0);
                true
            }
        }
    }

    /// Schedules another run of the current step. Returns `false` if it ran too often.
    pub(super) fn retry(&mut self, now: UnixMillis) -> bool {
        if self.tries >= STEP_ATTEMPTS {
            return false;
        }
        let doublings = self.tries.saturating_sub(1).min(10);
        let backoff = (RETRY_BACKOFF_MS << doublings).min(RETRY_BACKOFF_MAX_MS);
        self.retry_at = Some(now + backoff);
        true
    }

    /// Records arriving bytes. Only a change counts.
    pub(super) fn record_bytes(&mut self, bytes: u64, now: UnixMillis) {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.bytes_at = now;
            self.touched_at = now;
        }
    }

    /// Returns the time when a transfer counts as stalled.
    pub(super) fn stall_at(&self) -> Option<UnixMillis> {
        (self.step.is_transfer() && self.retry_at.is_none())
            .then(|| self.bytes_at + RESTORE_STALL_TIMEOUT_MS)
    }

    /// Returns whether the dependency archive took too long.
    pub(super) fn must_skip_deps(&self, now: UnixMillis) -> bool {
        let is_due = |at: Option<UnixMillis>| at.is_some_and(|at| at <= now);
        self.step == Step::AdoptDeps && (is_due(self.deadline()) || is_due(self.stall_at()))
    }

    /// Returns the cycle's deadline. A verified tree's markers have none, because they take no
    /// time.
    pub(super) fn deadline(&self) -> Option<UnixMillis> {
        self.deadline.filter(|_| self.step != Step::Mark)
    }

    /// Returns when the cycle's next alarm is due.
    pub(super) fn alarm(&self) -> UnixMillis {
        let due = self.retry_at.unwrap_or(self.lease_until);
        [self.deadline(), self.stall_at()]
            .into_iter()
            .flatten()
            .fold(due, UnixMillis::min)
    }
}

impl super::Resident {
    /// Returns the current step in the cycle in progress.
    pub fn current_step(&self) -> Option<Step> {
        self.cycle.as_ref().map(|cycle| cycle.step)
    }
}
