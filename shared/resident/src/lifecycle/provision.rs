//! Provisioning: from the code host to a warm tree.

use ars_types::UnixMillis;

use super::classify::{FailureClass, classify, failure_text};
use super::cycle::{Cycle, CycleKind};
use super::machine::{Facts, Resident, SOON_MS, Slot};
use super::protocol::{Action, Config, Failure, Output, Step};
use super::reason::{DownCause, Reason, Stage};
use crate::snapshot::{Snapshot, Stamp};

/// Delay before provisioning starts anew after the container was replaced.
const RESTART_DELAY_MS: i64 = 5_000;

impl Resident {
    /// Starts provisioning a new resident. A repeated request changes no state.
    pub(super) fn onboard(&mut self, config: Config, now: UnixMillis) -> Vec<Action> {
        if self.stage.is_some() && self.slot == Slot::Held {
            return Vec::new();
        }
        self.config = Some(config);
        self.slot = Slot::Held;
        self.begin_provisioning(now)
    }

    /// Discards the snapshot and provisions anew. Ignored while a cycle runs.
    pub(super) fn rebuild(&mut self, now: UnixMillis) -> Vec<Action> {
        let is_settled = matches!(
            self.stage,
            Some(Stage::Warm | Stage::Degraded(_) | Stage::Down(_))
        );
        if !is_settled || self.slot != Slot::Held {
            return Vec::new();
        }
        self.begin_provisioning(now)
    }

    pub(super) fn begin_provisioning(&mut self, now: UnixMillis) -> Vec<Action> {
        let actions = self.drop_cycle();
        let timeout = self
            .config
            .as_ref()
            .map_or(0, |config| config.provisioning_timeout_ms);
        // A backup is deleted before the id is forgotten: the ids move to the deletions in the same
        // write.
        self.replace_snapshot(None);
        self.facts = None;
        self.last_restore = None;
        self.checkpoint_at = None;
        self.verified = None;
        self.strikes = 0;
        self.idle_since = None;
        self.schedules.refresh = None;
        self.schedules.provision_run = Some(now + SOON_MS);
        self.schedules.provision_deadline = Some(now + timeout);
        self.enter(Stage::Onboarding, now);
        actions
    }

    /// Sets the state without a schedule, as a lost alarm would.
    pub(super) fn force_onboarding(&mut self, now: UnixMillis) -> Vec<Action> {
        let actions = self.drop_cycle();
        self.schedules = super::machine::Schedules::default();
        self.verified = None;
        self.enter(Stage::Onboarding, now);
        actions
    }

    /// Starts the first provisioning step.
    pub(super) fn provision(&mut self, now: UnixMillis) -> Vec<Action> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let mut steps = vec![
            Step::Mint,
            Step::AwaitRestores,
            Step::UnmountRestores,
            Step::CleanWorkspace,
            Step::GitSetup,
            Step::Clone,
            Step::LockMirror,
            Step::AdoptCheckpoints,
            Step::DetectDefaultBranch,
            Step::RevParse,
            Step::LockfileKey,
            Step::CheckoutClone,
        ];
        if config.has_install {
            steps.extend([Step::AdoptDeps, Step::Install, Step::LinkDeps]);
        }
        steps.extend([Step::Build, Step::Snapshot, Step::Mark]);
        let mut actions = self.drop_cycle();
        self.cycle = Some(Cycle::new(CycleKind::Provision, &steps, now));
        actions.extend(self.run_step(now));
        actions
    }

    /// Records a provisioning step's result.
    pub(super) fn provisioned(
        &mut self,
        step: Step,
        output: Output,
        now: UnixMillis,
    ) -> Vec<Action> {
        match output {
            Output::Marked { runtime } => {
                let Some(cycle) = self.cycle.take() else {
                    return Vec::new();
                };
                let Some(snapshot) = cycle.found.snapshot else {
                    return self.incomplete(step, now);
                };
                self.facts = Some(Facts {
                    stamp: snapshot.stamp.clone(),
                    provisioned_at: now,
                    last_refresh_at: now,
                });
                self.replace_snapshot(Some(snapshot));
                self.verified = Some(runtime);
                self.schedules.provision_run = None;
                self.schedules.provision_deadline = None;
                self.settle_warm(now);
                vec![Action::Housekeep]
            }
            output => {
                if self.record(output, now) {
                    self.next_step(now)
                } else {
                    self.incomplete(step, now)
                }
            }
        }
    }

    /// Records a value that a step found. Returns `false` if an earlier value is missing.
    pub(super) fn record(&mut self, output: Output, now: UnixMillis) -> bool {
        let Some(cycle) = &mut self.cycle else {
            return false;
        };
        let found = &mut cycle.found;
        match output {
            Output::Branch(name) => found.git_ref = Some(name),
            Output::Commit(sha) => found.sha = Some(sha),
            Output::Key(key) => found.key = Some(key),
            Output::Uploaded { mirror, checkout } => {
                let (Some(git_ref), Some(sha), Some(key)) =
                    (&found.git_ref, &found.sha, &found.key)
                else {
                    self.garbage.extend([mirror, checkout]);
                    return false;
                };
                found.snapshot = Some(Snapshot {
                    stamp: Stamp {
                        git_ref: git_ref.clone(),
                        sha: sha.clone(),
                        lockfile_hash: key.clone(),
                    },
                    // What changes during the upload is not in the snapshot.
                    created_at: cycle.begun_at.unwrap_or(now),
                    mirror_backup_id: mirror,
                    checkout_backup_id: checkout,
                });
            }
            Output::Done
            | Output::Inspected(_)
            | Output::Verified { .. }
            | Output::Marked { .. } => {}
        }
        true
    }

    fn incomplete(&mut self, step: Step, now: UnixMillis) -> Vec<Action> {
        let failure = Failure {
            stderr: "an earlier step reported no result".to_owned(),
            ..Failure::default()
        };
        self.provision_failed(step, &failure, now)
    }

    pub(super) fn provision_failed(
        &mut self,
        step: Step,
        failure: &Failure,
        now: UnixMillis,
    ) -> Vec<Action> {
        if classify(step, failure) == FailureClass::Interrupted {
            // The container was replaced. The deadline bounds the repetitions.
            let actions = self.drop_cycle();
            self.schedules.provision_run = Some(now + RESTART_DELAY_MS);
            return actions;
        }
        self.go_down(
            DownCause::ProvisionFailed(step),
            &failure_text(failure),
            now,
        )
    }

    /// Ends provisioning past the budget and releases the registry row.
    pub(super) fn provision_timed_out(&mut self, now: UnixMillis) -> Vec<Action> {
        let step = self
            .cycle
            .as_ref()
            .map_or("start", |cycle| cycle.step.as_str());
        let timeout = self
            .config
            .as_ref()
            .map_or(0, |config| config.provisioning_timeout_ms);
        let detail = format!("{} s were not enough; it stopped at {step}", timeout / 1000);
        let actions = self.go_down(DownCause::ProvisionTimeout, &detail, now);
        if self.slot == Slot::Held {
            self.slot = Slot::Releasing;
        }
        actions
    }

    /// Changes the state to down and cancels schedules and steps.
    pub(super) fn go_down(
        &mut self,
        cause: DownCause,
        detail: &str,
        now: UnixMillis,
    ) -> Vec<Action> {
        let may_stop = self
            .cycle
            .as_ref()
            .is_some_and(|cycle| cycle.kind == CycleKind::Restore && !cycle.has_unsaved);
        let mut actions = self.drop_cycle();
        // A late stream ends with the container. Where trees have unsaved work, the cancelled
        // attempt fences it.
        if may_stop {
            actions.push(Action::StopContainer);
        }
        self.schedules = super::machine::Schedules::default();
        self.verified = None;
        self.enter(Stage::Down(Reason::new(cause, detail)), now);
        actions
    }

    /// Changes the state to warm and arms the refresh chain.
    pub(super) fn settle_warm(&mut self, now: UnixMillis) {
        self.strikes = 0;
        self.interrupted_streak = 0;
        self.degraded_streak = 0;
        self.last_cause = None;
        self.schedules.refresh = Some(now + self.refresh_delay());
        self.enter(Stage::Warm, now);
    }
}
