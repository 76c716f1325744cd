//! Refreshes: gate, plan, result, and when the next is due.

use ars_types::UnixMillis;

use super::classify::{DISK_FULL_MIN_KIB, FailureClass, classify, failure_text};
use super::cycle::{Cycle, CycleKind};
use super::machine::{Facts, REFRESH_INTERVAL_MS, Resident, SOON_MS};
use super::protocol::{Action, Failure, Inspection, Markers, Output, Step, TreesState};
use super::reason::{DegradedCause, Reason, Stage};
use crate::names::{LockfileKey, Sha};

/// Time until the next refresh after an interruption or a container restart.
const SHORT_REFRESH_INTERVAL_MS: i64 = 45_000;
/// Refresh interval while checkpoints are made.
const CHECKPOINT_REFRESH_INTERVAL_MS: i64 = 60_000;
/// Refresh interval for an idle resident, so that the container sleeps.
const IDLE_REFRESH_INTERVAL_MS: i64 = 21_600_000;
/// Time without an attach after which a resident may be idle.
const IDLE_MIN_MS: i64 = 3_600_000;
/// Interruptions in a row after which the next refresh waits for the full interval.
const INTERRUPTED_MAX: u32 = 3;
/// Equal failures in a row after which a degraded resident may be idle.
const SETTLED_STREAK_MIN: u32 = 3;
/// Time between two container restarts because of a full disk.
const RECYCLE_INTERVAL_MS: i64 = 3_600_000;

/// What a refresh does after the fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshPlan {
    /// The tree and snapshot are current.
    Unchanged,
    /// The tree is current and was built, but has no snapshot yet.
    Reuse,
    /// The commit changed, the lockfiles did not.
    KeepDeps,
    /// An installation for these lockfiles did not end; it continues.
    ResumeInstall,
    /// The lockfiles have changed.
    Full,
}

/// Plans a refresh from the fetched commit and the markers on the disk.
pub fn plan_refresh(
    facts: Option<&Facts>,
    sha: &Sha,
    key: &LockfileKey,
    markers: &Markers,
    has_install: bool,
) -> RefreshPlan {
    let has_deps = !has_install || markers.deps_key.as_ref() == Some(key);
    let is_built =
        markers.head.as_ref() == Some(sha) && markers.built.as_ref() == Some(sha) && has_deps;
    let is_recorded =
        facts.is_some_and(|facts| facts.stamp.sha == *sha && facts.stamp.lockfile_hash == *key);
    match (is_built, has_deps) {
        (true, _) if is_recorded => RefreshPlan::Unchanged,
        (true, _) => RefreshPlan::Reuse,
        (false, true) => RefreshPlan::KeepDeps,
        (false, false) if markers.deps_installing.as_ref() == Some(key) => {
            RefreshPlan::ResumeInstall
        }
        (false, false) => RefreshPlan::Full,
    }
}

impl RefreshPlan {
    /// Returns the steps that follow the plan.
    pub(super) fn steps(self, has_install: bool) -> Vec<Step> {
        let rebuild = [Step::Build, Step::Snapshot, Step::Mark];
        let mut steps = match self {
            Self::Unchanged => return Vec::new(),
            Self::Reuse => return vec![Step::Snapshot, Step::Mark],
            Self::KeepDeps => vec![Step::Unmark, Step::CheckoutUpdate],
            Self::ResumeInstall | Self::Full => {
                vec![
                    Step::Unmark,
                    Step::AdoptDeps,
                    Step::Install,
                    Step::CheckoutUpdate,
                ]
            }
        };
        if has_install {
            steps.push(Step::LinkDeps);
        }
        steps.extend(rebuild);
        steps
    }
}

impl Resident {
    /// Starts a refresh with the gate. The state does not change yet.
    pub(super) fn begin_refresh(&mut self, now: UnixMillis) -> Vec<Action> {
        // The chain is armed before anything can fail.
        self.schedules.refresh = Some(now + REFRESH_INTERVAL_MS);
        let steps = [
            Step::Inspect,
            Step::Mint,
            Step::Fetch,
            Step::RevParse,
            Step::LockfileKey,
        ];
        let mut cycle = Cycle::new(CycleKind::Refresh, &steps, now);
        cycle.found.git_ref = self
            .config
            .as_ref()
            .map(|config| config.default_ref.clone());
        self.cycle = Some(cycle);
        self.run_step(now)
    }

    /// Records a refresh step's result.
    pub(super) fn refreshed(&mut self, step: Step, output: Output, now: UnixMillis) -> Vec<Action> {
        match output {
            Output::Inspected(inspection) => self.gate(*inspection, now),
            Output::Key(key) => self.plan(key, now),
            Output::Marked { runtime } => {
                self.verified = Some(runtime);
                self.refresh_succeeded(now)
            }
            output => {
                if self.record(output, now) {
                    return self.next_step(now);
                }
                let stderr = "an earlier step reported no result".to_owned();
                self.refresh_failed(
                    step,
                    &Failure {
                        stderr,
                        ..Failure::default()
                    },
                    now,
                )
            }
        }
    }

    fn gate(&mut self, inspection: Inspection, now: UnixMillis) -> Vec<Action> {
        if inspection.runtime.is_none() || !self.is_ready_marker(inspection.markers.ready.as_ref())
        {
            return self.begin_restore(inspection.trees, now);
        }
        self.verified.clone_from(&inspection.runtime);
        let may_stop = inspection.in_flight == 0 && inspection.trees == TreesState::Clean;
        if !inspection.is_image_current && may_stop {
            return self.recycle(now);
        }
        if let Some(Stage::Degraded(reason)) = &self.stage
            && *reason.cause() == DegradedCause::DiskFull
            && inspection
                .free_kib
                .is_none_or(|free| free < DISK_FULL_MIN_KIB)
        {
            return self.still_full(&inspection, now);
        }
        // A checkpoint is on the container's disk only until a snapshot has it.
        let has_new_checkpoint =
            self.lacks_checkpoint(inspection.last_checkpoint_at.max(self.checkpoint_at));
        if !has_new_checkpoint && self.is_idle(&inspection, now) {
            self.cycle = None;
            self.idle_since.get_or_insert(now);
            self.schedules.refresh = Some(now + IDLE_REFRESH_INTERVAL_MS);
            return Vec::new();
        }
        self.idle_since = None;
        if let Some(cycle) = &mut self.cycle {
            cycle.found.markers = inspection.markers;
            cycle.found.has_new_checkpoint = has_new_checkpoint;
        }
        self.enter(Stage::Refreshing, now);
        self.next_step(now)
    }

    /// Stops the container and refreshes soon, which restores the tree in a new container.
    fn recycle(&mut self, now: UnixMillis) -> Vec<Action> {
        self.cycle = None;
        self.verified = None;
        self.schedules.refresh = Some(now + SHORT_REFRESH_INTERVAL_MS);
        vec![Action::StopContainer]
    }

    fn still_full(&mut self, inspection: &Inspection, now: UnixMillis) -> Vec<Action> {
        let is_cooling = self
            .disk_full_recycle_at
            .is_some_and(|at| now - at < RECYCLE_INTERVAL_MS);
        let obstacle = match inspection.trees {
            _ if is_cooling => Some("it was restarted less than an hour ago"),
            _ if inspection.in_flight > 0 => Some("operations are in flight"),
            TreesState::Dirty => Some("a thread has unsaved work"),
            TreesState::Unknown => Some("a thread's tree could not be read"),
            TreesState::Clean => None,
        };
        let Some(obstacle) = obstacle else {
            self.disk_full_recycle_at = Some(now);
            self.last_refresh_error = Some("disk-full: the container is restarted".to_owned());
            return self.recycle(now);
        };
        self.last_refresh_error = Some(format!(
            "disk-full: the container is not restarted: {obstacle}"
        ));
        self.cycle = None;
        self.schedules.refresh = Some(now + REFRESH_INTERVAL_MS);
        Vec::new()
    }

    fn is_idle(&self, inspection: &Inspection, now: UnixMillis) -> bool {
        let is_settled = match &self.stage {
            Some(Stage::Warm) => true,
            Some(Stage::Degraded(reason)) => {
                reason.cause().is_from_refresh() && self.degraded_streak >= SETTLED_STREAK_MIN
            }
            _ => false,
        };
        // An agent usually follows the onboarding, so it counts as a use.
        let onboarded_at = self.facts.as_ref().map(|facts| facts.provisioned_at);
        let last_use_at = inspection.last_attach_at.max(onboarded_at);
        let is_unused = last_use_at.is_none_or(|at| now - at >= IDLE_MIN_MS);
        is_settled
            && is_unused
            && inspection.in_flight == 0
            && inspection.trees == TreesState::Clean
    }

    fn plan(&mut self, key: LockfileKey, now: UnixMillis) -> Vec<Action> {
        let has_install = self
            .config
            .as_ref()
            .is_some_and(|config| config.has_install);
        let Some(cycle) = &mut self.cycle else {
            return Vec::new();
        };
        let Some(sha) = cycle.found.sha.clone() else {
            let stderr = "the commit is unknown".to_owned();
            return self.refresh_failed(
                Step::RevParse,
                &Failure {
                    stderr,
                    ..Failure::default()
                },
                now,
            );
        };
        let plan = plan_refresh(
            self.facts.as_ref(),
            &sha,
            &key,
            &cycle.found.markers,
            has_install,
        );
        cycle.found.key = Some(key);
        // A new default branch with the same tree still needs a snapshot with a new stamp.
        let is_renamed =
            self.facts.as_ref().map(|facts| &facts.stamp.git_ref) != cycle.found.git_ref.as_ref();
        let needs_snapshot = is_renamed || cycle.found.has_new_checkpoint;
        let plan = if plan == RefreshPlan::Unchanged && needs_snapshot {
            RefreshPlan::Reuse
        } else {
            plan
        };
        cycle.rest = plan.steps(has_install);
        if plan == RefreshPlan::Unchanged {
            self.refresh_succeeded(now)
        } else {
            self.next_step(now)
        }
    }

    fn refresh_succeeded(&mut self, now: UnixMillis) -> Vec<Action> {
        let Some(cycle) = self.cycle.take() else {
            return Vec::new();
        };
        if let Some(snapshot) = cycle.found.snapshot {
            if let Some(facts) = &mut self.facts {
                facts.stamp = snapshot.stamp.clone();
            }
            self.replace_snapshot(Some(snapshot));
        }
        if let Some(facts) = &mut self.facts {
            facts.last_refresh_at = now;
        }
        self.last_refresh_error = cycle.found.mint_error;
        self.settle_warm(now);
        vec![Action::Housekeep]
    }

    pub(super) fn refresh_failed(
        &mut self,
        step: Step,
        failure: &Failure,
        now: UnixMillis,
    ) -> Vec<Action> {
        let text = failure_text(failure);
        let cause = match classify(step, failure) {
            FailureClass::DiskFull => DegradedCause::DiskFull,
            FailureClass::Interrupted => DegradedCause::Interrupted,
            FailureClass::HostUnreachable => DegradedCause::HostUnreachable,
            FailureClass::StepFailed => DegradedCause::StepFailed(step),
        };
        let is_repeated = cause.is_from_refresh() && self.last_cause == Some(cause);
        self.degraded_streak = if is_repeated {
            self.degraded_streak + 1
        } else {
            1
        };
        self.last_cause = Some(cause);
        let is_interrupted = cause == DegradedCause::Interrupted;
        self.interrupted_streak = if is_interrupted {
            self.interrupted_streak + 1
        } else {
            0
        };
        if is_interrupted {
            // The container may be different, with another disk.
            self.verified = None;
        }
        let is_soon = is_interrupted && self.interrupted_streak <= INTERRUPTED_MAX;
        let found = self
            .cycle
            .as_ref()
            .map(|cycle| cycle.found.clone())
            .unwrap_or_default();
        let mut actions = self.drop_cycle();
        let reason = Reason::new(cause, &text);
        self.last_refresh_error = Some(reason.to_string());
        self.enter(Stage::Degraded(reason), now);
        let delay = if is_soon {
            SHORT_REFRESH_INTERVAL_MS
        } else {
            REFRESH_INTERVAL_MS
        };
        self.schedules.refresh = Some(now + delay);
        if cause == DegradedCause::HostUnreachable {
            actions.extend(self.begin_save(&found, now));
        }
        actions
    }

    /// Arms the refresh after a restore: soon, if a refresh was interrupted.
    pub(super) fn refresh_after_restore(&mut self, now: UnixMillis) {
        let is_soon = (1..=INTERRUPTED_MAX).contains(&self.interrupted_streak);
        let delay = if is_soon {
            SHORT_REFRESH_INTERVAL_MS
        } else {
            REFRESH_INTERVAL_MS
        };
        self.schedules.refresh = Some(now + delay);
    }

    pub(super) fn attached(&mut self, now: UnixMillis) -> Vec<Action> {
        self.idle_since = None;
        let last = self.facts.as_ref().map(|facts| facts.last_refresh_at);
        if last.is_none_or(|at| now - at > REFRESH_INTERVAL_MS) {
            self.refresh_soon(now);
        }
        Vec::new()
    }

    /// Moves the next refresh to the next moment.
    pub(super) fn refresh_soon(&mut self, now: UnixMillis) {
        if matches!(self.stage, Some(Stage::Warm | Stage::Degraded(_))) {
            self.schedules.refresh = Some(
                self.schedules
                    .refresh
                    .map_or(now + SOON_MS, |at| at.min(now + SOON_MS)),
            );
        }
    }

    /// Arms a refresh. Its snapshot has the checkpoint.
    pub(super) fn checkpoint_made(&mut self, now: UnixMillis) -> Vec<Action> {
        // An object that was removed stays blank.
        self.checkpoint_at = self.stage.is_some().then_some(now);
        // A refresh that failed would fail again, after a whole build.
        if self.stage == Some(Stage::Warm) {
            // The state changed last when a cycle ended.
            let at = (self.updated_at + CHECKPOINT_REFRESH_INTERVAL_MS).max(now + SOON_MS);
            self.schedules.refresh = Some(self.schedules.refresh.map_or(at, |next| next.min(at)));
        }
        Vec::new()
    }

    /// Returns the time from a cycle's end to the next refresh.
    pub(super) fn refresh_delay(&self) -> i64 {
        match self.lacks_checkpoint(self.checkpoint_at) {
            true => CHECKPOINT_REFRESH_INTERVAL_MS,
            false => REFRESH_INTERVAL_MS,
        }
    }

    /// Returns whether the snapshot lacks a checkpoint from this time.
    fn lacks_checkpoint(&self, at: Option<UnixMillis>) -> bool {
        let has = |at| {
            self.snapshot
                .as_ref()
                .is_some_and(|snapshot| at < snapshot.created_at)
        };
        at.is_some_and(|at| !has(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Stamp;

    fn sha(digit: char) -> Sha {
        Sha::parse(digit.to_string().repeat(40)).unwrap()
    }

    fn key(text: &str) -> LockfileKey {
        LockfileKey::of_listing(text)
    }

    #[test]
    fn refresh_does_as_little_as_the_markers_allow() {
        let git_ref = ars_types::StrictRefName::parse("main").unwrap();
        let stamp = Stamp {
            git_ref,
            sha: sha('a'),
            lockfile_hash: key("1"),
        };
        let facts = Facts {
            stamp,
            provisioned_at: 0,
            last_refresh_at: 0,
        };
        let built = |digit| Markers {
            head: Some(sha(digit)),
            built: Some(sha(digit)),
            deps_key: Some(key("1")),
            ..Markers::default()
        };
        let installing = Markers {
            deps_installing: Some(key("2")),
            ..built('a')
        };
        let plan = |digit, lock, markers: &Markers| {
            plan_refresh(Some(&facts), &sha(digit), &key(lock), markers, true)
        };
        assert_eq!(plan('a', "1", &built('a')), RefreshPlan::Unchanged);
        assert_eq!(plan('b', "1", &built('b')), RefreshPlan::Reuse);
        assert_eq!(plan('b', "1", &built('a')), RefreshPlan::KeepDeps);
        assert_eq!(plan('b', "2", &built('a')), RefreshPlan::Full);
        assert_eq!(plan('b', "2", &installing), RefreshPlan::ResumeInstall);
        assert_eq!(
            plan('a', "1", &Markers::default()),
            RefreshPlan::Full,
            "an unmarked tree is not trusted"
        );
        let bare = Markers {
            head: Some(sha('b')),
            built: Some(sha('b')),
            ..Markers::default()
        };
        assert_eq!(
            plan_refresh(Some(&facts), &sha('b'), &key("1"), &bare, false),
            RefreshPlan::Reuse
        );
    }
}
