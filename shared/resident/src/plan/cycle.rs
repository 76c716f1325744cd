//! The commands of each step of a cycle.

use ars_types::StrictRefName;

use super::step::{
    FETCH_TIMEOUT_MS, Operation, PlanStep, Unprivileged, User, clone_at, git, remote_git,
};
use crate::layout::{CHECKOUT, MIRROR, STATE};
use crate::lifecycle::Step;
use crate::names::{BackupId, LockfileKey, Sha, TableCommand};
use crate::snapshot::Snapshot;

/// Permissions of the state folder.
const STATE_MODE: u32 = 0o700;
/// Permissions of the mirror: the build user reads it, users of threads cannot enter it.
pub const MIRROR_MODE: u32 = 0o750;
/// Setting of the mirror that keeps checkpoints: a fetch neither prunes nor overwrites them.
const OWN_REFS: &str = "remote.origin.fetch=^refs/ars/*";
/// Folder of dependencies that snapshots leave out.
const DEPS_FOLDER: &str = "node_modules";

/// The values of a cycle that the steps need. A step without these values has no plan.
#[derive(Debug, Clone, Default)]
pub struct CycleContext<'a> {
    /// URL of the repository.
    pub origin: &'a str,
    /// A token was minted.
    pub has_token: bool,
    /// Branch.
    pub git_ref: Option<&'a StrictRefName>,
    /// Commit.
    pub sha: Option<&'a Sha>,
    /// Key of the lockfiles.
    pub key: Option<&'a LockfileKey>,
    /// The snapshot to restore.
    pub snapshot: Option<&'a Snapshot>,
    /// The command that installs dependencies.
    pub install: Option<&'a TableCommand>,
    /// The command that builds.
    pub build: Option<&'a TableCommand>,
    /// The lockfiles did not change, so the linked dependencies stay.
    pub keeps_deps: bool,
}

/// Returns the commands of a step. `None` if an earlier step did not find a value.
pub fn cycle_step(step: Step, context: &CycleContext<'_>, budget_ms: i64) -> Option<Vec<PlanStep>> {
    let plan = StepPlan { step, budget_ms };
    Some(match step {
        // The object mints the token; the container takes no part.
        Step::Mint => Vec::new(),
        Step::Inspect => plan.root(Operation::Inspect),
        Step::AwaitRestores => plan.root(Operation::AwaitStreams),
        Step::UnmountRestores => plan.root(Operation::Unmount),
        Step::CleanWorkspace | Step::CleanBeforeRestore => plan.clean(),
        Step::GitSetup => plan.folder(STATE, STATE_MODE),
        Step::Clone => plan.clone_mirror(context),
        Step::LockMirror => plan.folder(MIRROR, MIRROR_MODE),
        Step::AdoptCheckpoints => plan.locked(Operation::AdoptCheckpoints),
        Step::DetectDefaultBranch => plan.root(git(MIRROR, &["symbolic-ref", "--short", "HEAD"])),
        Step::Fetch => {
            let args = ["fetch", "--prune", "origin"];
            plan.locked(remote_git(MIRROR, &args, context.has_token))
        }
        Step::RevParse | Step::Verify => {
            let commit = format!("refs/heads/{}^{{commit}}", context.git_ref?);
            let args = ["rev-parse", "--verify", "--end-of-options", &commit];
            plan.root(git(MIRROR, &args))
        }
        Step::LockfileKey => plan.root(Operation::LockfileListing {
            sha: context.sha?.clone(),
        }),
        Step::CheckoutClone => checkout_clone(context, budget_ms)?,
        Step::Unmark => plan.root(Operation::Unmark {
            has_deps: !context.keeps_deps && context.install.is_some(),
        }),
        Step::Install => plan.root(Operation::Install {
            key: context.key?.clone(),
            sha: context.sha?.clone(),
            command: context.install?.clone(),
        }),
        Step::CheckoutUpdate => checkout_update(context, budget_ms)?,
        Step::LinkDeps => plan.locked(Operation::LinkDeps {
            key: context.key?.clone(),
            tree: CHECKOUT.to_owned(),
            owner: User::BUILD,
        }),
        Step::Build => plan.build(context.build?),
        Step::Snapshot => vec![
            plan.archive("snapshot-mirror", MIRROR, None),
            plan.archive("snapshot-checkout", CHECKOUT, Some(DEPS_FOLDER)),
        ],
        Step::RestoreMirror => plan.extract(&context.snapshot?.mirror_backup_id, MIRROR),
        Step::RestoreCheckout => plan.extract(&context.snapshot?.checkout_backup_id, CHECKOUT),
        Step::AdoptDeps => plan.root(Operation::AdoptDeps {
            key: context.key?.clone(),
            backup: None,
        }),
        Step::Mark => plan.root(Operation::Mark {
            sha: context.sha?.clone(),
            key: context.key?.clone(),
        }),
    })
}

/// A step with the time that each command may take.
struct StepPlan {
    step: Step,
    budget_ms: i64,
}

impl StepPlan {
    fn root(&self, operation: Operation) -> Vec<PlanStep> {
        vec![PlanStep::root(self.step.as_str(), operation).within(self.budget_ms)]
    }

    fn locked(&self, operation: Operation) -> Vec<PlanStep> {
        let step = PlanStep::root(self.step.as_str(), operation);
        vec![step.within(self.budget_ms).locked()]
    }

    fn folder(&self, path: &str, mode: u32) -> Vec<PlanStep> {
        self.root(Operation::MakeDir {
            path: path.to_owned(),
            mode,
            owner: User::ROOT,
        })
    }

    /// Removes checkout and mirror. Trees of threads stay.
    fn clean(&self) -> Vec<PlanStep> {
        let checkout = Operation::RemoveTree {
            path: CHECKOUT.to_owned(),
        };
        let mut steps = self.root(Operation::Unmark { has_deps: true });
        steps.extend(self.locked(Operation::SetMirrorAside));
        steps.extend(self.locked(checkout));
        steps
    }

    fn clone_mirror(&self, context: &CycleContext<'_>) -> Vec<PlanStep> {
        // A pack also from a repository on this machine: each tree is a copy of the mirror's objects.
        let args = [
            "clone",
            "--mirror",
            "--no-local",
            "--config",
            OWN_REFS,
            "--",
            context.origin,
            MIRROR,
        ];
        self.locked(remote_git("/", &args, context.has_token))
    }

    fn build(&self, command: &TableCommand) -> Vec<PlanStep> {
        let run = Operation::TableCommand {
            user: Unprivileged::Build,
            command: command.clone(),
            cwd: CHECKOUT.to_owned(),
        };
        let step = PlanStep::new(self.step.as_str(), User::BUILD, run);
        vec![step.within(self.budget_ms).locked()]
    }

    fn archive(&self, name: &str, path: &str, without: Option<&str>) -> PlanStep {
        let archive = Operation::Archive {
            path: path.to_owned(),
            without: without.map(str::to_owned),
        };
        PlanStep::root(name, archive)
            .within(self.budget_ms)
            .locked()
    }

    fn extract(&self, backup: &BackupId, path: &str) -> Vec<PlanStep> {
        self.locked(Operation::Extract {
            backup: backup.clone(),
            path: path.to_owned(),
        })
    }
}

fn checkout_clone(context: &CycleContext<'_>, budget_ms: i64) -> Option<Vec<PlanStep>> {
    let clone = clone_at(context.git_ref?, CHECKOUT);
    let own = Operation::ChangeOwner {
        path: CHECKOUT.to_owned(),
        owner: User::BUILD,
    };
    Some(vec![
        PlanStep::root("checkout-clone", clone)
            .within(budget_ms)
            .locked(),
        PlanStep::root("chown", own).within(FETCH_TIMEOUT_MS),
    ])
}

fn checkout_update(context: &CycleContext<'_>, budget_ms: i64) -> Option<Vec<PlanStep>> {
    let sha = context.sha?.as_str();
    let update = |args: &[&str]| {
        PlanStep::new("checkout-update", User::BUILD, git(CHECKOUT, args))
            .within(budget_ms)
            .locked()
    };
    // Ignored files go too: a rewritten file would change every tree that links it.
    let clean: &[&str] = match context.keeps_deps {
        true => &["clean", "-fdx", "--exclude=/node_modules"],
        false => &["clean", "-fdx"],
    };
    let kill = Operation::KillIn {
        path: CHECKOUT.to_owned(),
    };
    Some(vec![
        PlanStep::root("leftover-kill", kill).locked(),
        update(&["fetch", "--prune", "origin"]),
        update(&["reset", "--hard", sha, "--"]),
        update(clean),
    ])
}
