//! The state machine: state, inputs, alarms, admission.
//!
//! Not here: the cycles (`provision`, `refresh`, `restore`), the watchdog and the teardown.

mod view;

use std::collections::BTreeSet;

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

use super::cycle::{Cycle, CycleKind};
use super::protocol::{Action, Config, Failure, Input, Output, Step, TeardownPart, TreesState};
use super::reason::{DegradedCause, Reason, Stage};
use crate::names::{BackupId, RuntimeId, Sha};
use crate::refusal::Refusal;
use crate::snapshot::{Snapshot, Stamp};

/// Interval of refreshes.
pub const REFRESH_INTERVAL_MS: i64 = 600_000;
/// Interval in which a deletion or a release is repeated until it is confirmed.
const CONFIRM_INTERVAL_MS: i64 = 30_000;
/// Delay of work that starts at once: the answer of the request leaves first.
pub(super) const SOON_MS: i64 = 1_000;
/// Reason of an object without state.
const NOTHING_PERSISTED: &str = "nothing persisted: this resident has not been onboarded";

/// Facts about the warm tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Stamp of the tree.
    pub stamp: Stamp,
    /// End of provisioning.
    pub provisioned_at: UnixMillis,
    /// End of the last refresh that succeeded.
    pub last_refresh_at: UnixMillis,
}

/// The last restore that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRestore {
    /// End.
    pub at: UnixMillis,
    /// Duration.
    pub ms: i64,
}

/// Due times of the schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Schedules {
    /// Next refresh.
    pub refresh: Option<UnixMillis>,
    /// Start of provisioning.
    pub provision_run: Option<UnixMillis>,
    /// Deadline of provisioning.
    pub provision_deadline: Option<UnixMillis>,
}

/// The registry row of the resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Slot {
    /// The row exists.
    Held,
    /// The row is being removed after a timeout.
    Releasing,
    /// The row was removed, or never existed.
    #[default]
    Released,
}

/// A decision about a request on the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The tree is verified for the running container.
    Serve,
    /// Start the container if needed, compare it with the facts, feed [`Input::Probed`], and ask again.
    Verify,
    /// A restore runs. The request waits for its end, within its own deadline.
    Wait,
    /// The request is rejected.
    Reject(Refusal),
}

/// The state of one resident.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Resident {
    pub(super) stage: Option<Stage>,
    pub(super) updated_at: UnixMillis,
    pub(super) config: Option<Config>,
    pub(super) facts: Option<Facts>,
    pub(super) snapshot: Option<Snapshot>,
    /// The container with the verified tree.
    pub(super) verified: Option<RuntimeId>,
    pub(super) cycle: Option<Cycle>,
    /// The newest attempt of any step.
    pub(super) attempts: u64,
    pub(super) schedules: Schedules,
    pub(super) slot: Slot,
    pub(super) last_refresh_error: Option<String>,
    pub(super) last_restore: Option<LastRestore>,
    pub(super) strikes: u32,
    pub(super) interrupted_streak: u32,
    pub(super) degraded_streak: u32,
    /// Cause of the last refresh that failed.
    pub(super) last_cause: Option<DegradedCause>,
    pub(super) disk_full_recycle_at: Option<UnixMillis>,
    /// Last new checkpoint. An earlier version did not store it.
    #[serde(default)]
    pub(super) checkpoint_at: Option<UnixMillis>,
    pub(super) idle_since: Option<UnixMillis>,
    /// Backups that no record names any more.
    pub(super) garbage: BTreeSet<BackupId>,
    pub(super) teardown: Option<BTreeSet<TeardownPart>>,
    /// The repository was onboarded again before its teardown ended.
    pub(super) next: Option<Config>,
    /// Next repetition of unconfirmed deletions and releases.
    pub(super) confirm_at: Option<UnixMillis>,
}

impl Resident {
    /// Applies an event and returns the actions it requires.
    pub fn step(&mut self, input: Input, now: UnixMillis) -> Vec<Action> {
        let mut actions = self.apply(input, now);
        actions.extend(self.unconfirmed(now));
        actions.extend(self.alarm().map(|at| Action::SetAlarm { at: at.max(now) }));
        actions
    }

    fn apply(&mut self, input: Input, now: UnixMillis) -> Vec<Action> {
        match input {
            Input::Offboard => return self.offboard(),
            Input::TornDown { part, ok } => return self.torn_down(part, ok, now),
            Input::ObjectsDeleted(ids) => {
                self.garbage.retain(|id| !ids.contains(id));
                return Vec::new();
            }
            Input::Onboard(config) if self.teardown.is_some() => {
                self.slot = Slot::Held;
                self.next = Some(config);
                return Vec::new();
            }
            // Nothing else happens to a resident that is being removed.
            _ if self.teardown.is_some() => return Vec::new(),
            _ => {}
        }
        match input {
            Input::Onboard(config) => self.onboard(config, now),
            Input::Reconfigure(config) => {
                if self.stage.is_some() {
                    self.config = Some(config);
                }
                Vec::new()
            }
            Input::Woke => self.woke(now),
            Input::AlarmFired => self.alarm_fired(now),
            Input::StepEnded { attempt, result } => self.step_ended(attempt, result, now),
            Input::Progress { attempt, bytes } => {
                if let Some(cycle) = self.cycle.as_mut().filter(|cycle| cycle.attempt == attempt) {
                    cycle.record_bytes(bytes, now);
                }
                Vec::new()
            }
            Input::Probed {
                runtime,
                ready,
                trees,
            } => self.probed(runtime, ready.as_ref(), trees, now),
            Input::Attached => self.attached(now),
            Input::CheckpointMade => self.checkpoint_made(now),
            Input::Stopped => {
                self.verified = None;
                Vec::new()
            }
            Input::Watchdog { is_running } => self.watchdog(is_running, now).1,
            Input::Rebuild => self.rebuild(now),
            Input::RefreshNow => {
                self.refresh_soon(now);
                Vec::new()
            }
            Input::KillRefresh => {
                self.schedules.refresh = None;
                Vec::new()
            }
            Input::ForceOnboarding => self.force_onboarding(now),
            // Without the slot it could not be rebuilt, so the reason that says so stays.
            Input::ForceDown { .. } if self.slot != Slot::Held => Vec::new(),
            Input::ForceDown { cause, detail } => self.go_down(cause, &detail, now),
            Input::SlotReleased => {
                if self.slot == Slot::Releasing {
                    self.slot = Slot::Released;
                }
                Vec::new()
            }
            Input::Offboard | Input::TornDown { .. } | Input::ObjectsDeleted(_) => Vec::new(),
        }
    }

    /// Repeats deletions and releases that were not confirmed. The first repetition follows at once.
    fn unconfirmed(&mut self, now: UnixMillis) -> Vec<Action> {
        let parts = self.teardown.iter().flatten().copied();
        // The storage goes last: it holds the record of the other parts.
        let has_others = self.teardown.as_ref().is_some_and(|parts| parts.len() > 1);
        let mut actions: Vec<Action> = parts
            .filter(|part| !has_others || *part != TeardownPart::Storage)
            .map(Action::TearDown)
            .collect();
        if !self.garbage.is_empty() && self.teardown.is_none() {
            actions.push(Action::DeleteObjects(
                self.garbage.iter().cloned().collect(),
            ));
        }
        if self.slot == Slot::Releasing {
            actions.push(Action::ReleaseSlot);
        }
        if actions.is_empty() {
            self.confirm_at = None;
            return actions;
        }
        if self.confirm_at.is_some_and(|at| now < at) {
            return Vec::new();
        }
        self.confirm_at = Some(now + CONFIRM_INTERVAL_MS);
        actions
    }

    /// Returns the time of the next alarm.
    pub fn alarm(&self) -> Option<UnixMillis> {
        let Schedules {
            refresh,
            provision_run,
            provision_deadline,
        } = self.schedules;
        // A refresh that is due during a cycle waits for the cycle's end.
        let refresh = refresh.filter(|_| self.cycle.is_none());
        let cycle = self.cycle.as_ref().map(Cycle::alarm);
        [
            refresh,
            provision_run,
            provision_deadline,
            cycle,
            self.confirm_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn alarm_fired(&mut self, now: UnixMillis) -> Vec<Action> {
        let is_due = |at: Option<UnixMillis>| at.is_some_and(|at| at <= now);
        let is_onboarding = self.stage == Some(Stage::Onboarding);
        if is_onboarding && is_due(self.schedules.provision_deadline) {
            return self.provision_timed_out(now);
        }
        if is_onboarding && is_due(self.schedules.provision_run) {
            self.schedules.provision_run = None;
            return self.provision(now);
        }
        if self.cycle.is_some() {
            return self.cycle_alarm(now);
        }
        if is_due(self.schedules.refresh)
            && matches!(self.stage, Some(Stage::Warm | Stage::Degraded(_)))
        {
            return self.begin_refresh(now);
        }
        Vec::new()
    }

    fn cycle_alarm(&mut self, now: UnixMillis) -> Vec<Action> {
        let Some(cycle) = &self.cycle else {
            return Vec::new();
        };
        if cycle.must_skip_deps(now) {
            return self.skip_deps(now);
        }
        if cycle.kind == CycleKind::Restore {
            if cycle.deadline().is_some_and(|at| at <= now) {
                return self.restore_failed("the deadline of 25 minutes was reached", now);
            }
            if cycle.stall_at().is_some_and(|at| at <= now) {
                return self
                    .restore_failed("the transfer stalled: no bytes arrived for 120 s", now);
            }
        }
        if cycle.retry_at.is_some_and(|at| at <= now) {
            return self.run_step(now);
        }
        if cycle.retry_at.is_none() && cycle.lease_until <= now {
            return self.step_lost(now);
        }
        Vec::new()
    }

    /// Runs the current step again: the instance that ran it is gone.
    fn woke(&mut self, now: UnixMillis) -> Vec<Action> {
        if self
            .cycle
            .as_ref()
            .is_some_and(|cycle| cycle.retry_at.is_none())
        {
            return self.step_lost(now);
        }
        Vec::new()
    }

    fn step_lost(&mut self, now: UnixMillis) -> Vec<Action> {
        let Some(cycle) = &mut self.cycle else {
            return Vec::new();
        };
        if cycle.retry(now) {
            return Vec::new();
        }
        let step = cycle.step;
        let failure = Failure {
            runtime_replaced: true,
            ..Failure::default()
        };
        self.step_failed(step, &failure, now)
    }

    /// Starts the current step of the cycle.
    pub(super) fn run_step(&mut self, now: UnixMillis) -> Vec<Action> {
        let timeout = self
            .config
            .as_ref()
            .map_or(0, |config| config.provisioning_timeout_ms);
        let Some(cycle) = &mut self.cycle else {
            return Vec::new();
        };
        self.attempts += 1;
        let budget = cycle.step.budget_ms(timeout);
        cycle.begin(self.attempts, budget, now);
        vec![Action::RunStep {
            attempt: cycle.attempt,
            step: cycle.step,
            budget_ms: budget,
        }]
    }

    /// Makes the next step the current one and starts it.
    pub(super) fn next_step(&mut self, now: UnixMillis) -> Vec<Action> {
        if self.cycle.as_mut().is_some_and(Cycle::advance) {
            self.run_step(now)
        } else {
            Vec::new()
        }
    }

    fn step_ended(
        &mut self,
        attempt: u64,
        result: Result<Output, Failure>,
        now: UnixMillis,
    ) -> Vec<Action> {
        let Some(cycle) = self
            .cycle
            .as_mut()
            .filter(|cycle| cycle.attempt == attempt && cycle.retry_at.is_none())
        else {
            // No record will name the backups of an older attempt.
            if let Ok(Output::Uploaded { mirror, checkout }) = result {
                let named: Vec<_> = self.snapshot.iter().flat_map(Snapshot::backups).collect();
                self.garbage.extend(
                    [mirror, checkout]
                        .into_iter()
                        .filter(|id| !named.contains(id)),
                );
            }
            return Vec::new();
        };
        cycle.touched_at = now;
        let (kind, step) = (cycle.kind, cycle.step);
        match (result, kind) {
            (Err(failure), _) => self.step_failed(step, &failure, now),
            (Ok(output), CycleKind::Provision) => self.provisioned(step, output, now),
            (Ok(output), CycleKind::Refresh) => self.refreshed(step, output, now),
            (Ok(output), CycleKind::Restore) => self.restored(step, output, now),
            (Ok(output), CycleKind::Save) => self.saved(output, now),
        }
    }

    fn step_failed(&mut self, step: Step, failure: &Failure, now: UnixMillis) -> Vec<Action> {
        if step == Step::Mint {
            let text = super::classify::failure_text(failure);
            self.last_refresh_error = Some(ars_events::clean(
                &format!("token-mint-failed ({text})"),
                ERROR_MAX_CHARS,
            ));
            if let Some(cycle) = &mut self.cycle {
                cycle.found.mint_error = self.last_refresh_error.clone();
            }
            return self.next_step(now);
        }
        // A missing entry is installed when it is needed.
        if step == Step::AdoptDeps {
            return self.next_step(now);
        }
        match self.cycle.as_ref().map(|cycle| cycle.kind) {
            Some(CycleKind::Provision) => self.provision_failed(step, failure, now),
            Some(CycleKind::Refresh) => self.refresh_failed(step, failure, now),
            Some(CycleKind::Restore) => self.restore_step_failed(step, failure, now),
            // The next refresh saves again.
            Some(CycleKind::Save) => self.drop_cycle(),
            None => Vec::new(),
        }
    }

    /// Decides after a comparison of the container with the facts.
    fn probed(
        &mut self,
        runtime: Option<RuntimeId>,
        ready: Option<&Sha>,
        trees: TreesState,
        now: UnixMillis,
    ) -> Vec<Action> {
        if !matches!(
            self.stage,
            Some(Stage::Warm | Stage::Refreshing | Stage::Degraded(_))
        ) {
            return Vec::new();
        }
        if runtime.is_some() && self.is_ready_marker(ready) {
            self.verified = runtime;
            return Vec::new();
        }
        self.begin_restore(trees, now)
    }

    /// Returns whether a marker names the tree of the facts, or the one that a refresh is about to record.
    pub(super) fn is_ready_marker(&self, ready: Option<&Sha>) -> bool {
        let fact = self.facts.as_ref().map(|facts| &facts.stamp.sha);
        let marking = self.cycle.as_ref().filter(|cycle| cycle.step == Step::Mark);
        ready.is_some()
            && (ready == fact || ready == marking.and_then(|cycle| cycle.found.sha.as_ref()))
    }

    /// Changes the state.
    pub(super) fn enter(&mut self, stage: Stage, now: UnixMillis) {
        self.stage = Some(stage);
        self.updated_at = now;
    }

    /// Changes the state to degraded.
    pub(super) fn degrade(&mut self, cause: DegradedCause, detail: &str, now: UnixMillis) {
        self.enter(Stage::Degraded(Reason::new(cause, detail)), now);
    }

    /// Ends the cycle. Its steps are cancelled, and backups it uploaded are deleted.
    pub(super) fn drop_cycle(&mut self) -> Vec<Action> {
        let Some(cycle) = self.cycle.take() else {
            return Vec::new();
        };
        self.garbage
            .extend(cycle.found.snapshot.iter().flat_map(Snapshot::backups));
        // Results of the attempt are older than the next one, so they are ignored.
        self.attempts += 1;
        vec![Action::CancelSteps {
            attempt: cycle.attempt,
        }]
    }

    /// Replaces the snapshot. The backups of the old one are deleted.
    pub(super) fn replace_snapshot(&mut self, snapshot: Option<Snapshot>) {
        let old = std::mem::replace(&mut self.snapshot, snapshot);
        self.garbage.extend(old.iter().flat_map(Snapshot::backups));
        for id in self.snapshot.iter().flat_map(Snapshot::backups) {
            self.garbage.remove(&id);
        }
    }
}

/// Maximum characters of the stored error of a refresh.
const ERROR_MAX_CHARS: usize = 1_000;
