//! Restores: from the snapshot to a verified tree, until a deadline or a stall ends them.

use ars_types::UnixMillis;

use super::classify::{FailureClass, classify, failure_text};
use super::cycle::{Cycle, CycleKind};
use super::machine::{LastRestore, Resident};
use super::protocol::{Action, Failure, Output, RESTORE_DEADLINE_MS, Step, TreesState};
use super::reason::{DownCause, Stage};

/// Least time left for adopting dependencies. With less they are installed when they are needed.
const ADOPT_MIN_MS: i64 = 60_000;
/// The steps of a restore. `AdoptDeps` is left out if too little time remains.
const STEPS: [Step; 9] = [
    Step::AwaitRestores,
    Step::UnmountRestores,
    Step::CleanBeforeRestore,
    Step::RestoreMirror,
    Step::AdoptCheckpoints,
    Step::RestoreCheckout,
    Step::Verify,
    Step::AdoptDeps,
    Step::Mark,
];

impl Resident {
    /// Starts a restore, or goes down if no snapshot has the stamp of the facts.
    ///
    /// The driver stores the state before it performs the actions.
    pub(super) fn begin_restore(&mut self, trees: TreesState, now: UnixMillis) -> Vec<Action> {
        let mut actions = self.drop_cycle();
        self.verified = None;
        let Some(snapshot) = &self.snapshot else {
            actions.extend(self.go_down(
                DownCause::NoSnapshot,
                "there is no snapshot to restore",
                now,
            ));
            return actions;
        };
        if self.facts.as_ref().map(|facts| &facts.stamp) != Some(&snapshot.stamp) {
            let detail = "the stored facts differ from the stamp of the snapshot";
            actions.extend(self.go_down(DownCause::StampMismatch, detail, now));
            return actions;
        }
        let mut cycle = Cycle::new(CycleKind::Restore, &STEPS, now);
        cycle.deadline = Some(now + RESTORE_DEADLINE_MS);
        cycle.has_unsaved = trees != TreesState::Clean;
        self.cycle = Some(cycle);
        self.enter(Stage::Restoring, now);
        actions.extend(self.run_step(now));
        actions
    }

    /// Records a restore step's result.
    pub(super) fn restored(&mut self, step: Step, output: Output, now: UnixMillis) -> Vec<Action> {
        match output {
            Output::Verified { sha, key } => {
                let mismatch = match &self.snapshot {
                    Some(snapshot) => snapshot.stamp.mismatch(&sha, &key),
                    None => Some("the snapshot was removed during the restore".to_owned()),
                };
                if let Some(detail) = mismatch {
                    return self.go_down(DownCause::StampMismatch, &detail, now);
                }
                if let Some(cycle) = &mut self.cycle {
                    cycle.found.sha = Some(sha);
                    let is_late = cycle.deadline.is_some_and(|at| at - now < ADOPT_MIN_MS);
                    cycle
                        .rest
                        .retain(|step| !is_late || *step != Step::AdoptDeps);
                }
                self.next_step(now)
            }
            Output::Marked { runtime } => {
                let Some(cycle) = self.cycle.take() else {
                    return Vec::new();
                };
                if cycle.found.sha.is_none() {
                    self.cycle = Some(cycle);
                    return self.restore_failed("the restored tree was not verified", now);
                }
                self.verified = Some(runtime);
                self.last_restore = Some(LastRestore {
                    at: now,
                    ms: now - cycle.started_at,
                });
                self.strikes = 0;
                self.idle_since = None;
                self.enter(Stage::Warm, now);
                self.refresh_after_restore(now);
                vec![Action::Housekeep]
            }
            // The results of these two are handled above.
            _ if step == Step::Verify || step == Step::Mark => {
                self.restore_failed("a step reported no result", now)
            }
            _ => self.next_step(now),
        }
    }

    /// Ends the wait for the dependency archive. Dependencies are installed when they are needed.
    pub(super) fn skip_deps(&mut self, now: UnixMillis) -> Vec<Action> {
        let mut actions: Vec<Action> = self
            .cycle
            .iter()
            .map(|cycle| Action::CancelSteps {
                attempt: cycle.attempt,
            })
            .collect();
        actions.extend(self.next_step(now));
        actions
    }

    pub(super) fn restore_step_failed(
        &mut self,
        step: Step,
        failure: &Failure,
        now: UnixMillis,
    ) -> Vec<Action> {
        if classify(step, failure) == FailureClass::Interrupted
            && let Some(cycle) = &self.cycle
            && cycle.tries < super::cycle::STEP_ATTEMPTS
        {
            return self.restart_restore(now);
        }
        self.restore_failed(
            &format!("{}: {}", step.as_str(), failure_text(failure)),
            now,
        )
    }

    /// Schedules all steps again: a replaced container has an empty disk. The deadline stays.
    fn restart_restore(&mut self, now: UnixMillis) -> Vec<Action> {
        let Some(old) = &self.cycle else {
            return Vec::new();
        };
        let mut cycle = Cycle::new(CycleKind::Restore, &STEPS, old.started_at);
        cycle.deadline = old.deadline;
        cycle.has_unsaved = old.has_unsaved;
        cycle.touched_at = now;
        cycle.attempt = old.attempt;
        cycle.tries = old.tries;
        let is_retried = cycle.retry(now);
        let actions = self.drop_cycle();
        cycle.attempt = self.attempts;
        self.cycle = Some(cycle);
        if is_retried {
            actions
        } else {
            self.restore_failed("the container was replaced too often", now)
        }
    }

    pub(super) fn restore_failed(&mut self, detail: &str, now: UnixMillis) -> Vec<Action> {
        self.go_down(DownCause::RestoreFailed, detail, now)
    }
}
