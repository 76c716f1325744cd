//! The commands of each step of a cycle.

use ars_types::StrictRefName;

use super::step::{
    FETCH_TIMEOUT_MS, Operation, PlanStep, Unprivileged, User, clone_at, git, remote_git,
};
use crate::layout::{CHECKOUT, MIRROR, STATE};
use crate::lifecycle::Step;
use crate::names::{LockfileKey, Sha, TableCommand};
use crate::snapshot::Snapshot;

/// Permissions of the state folder.
const STATE_MODE: u32 = 0o700;
/// Permissions of the mirror: the build user reads it, users of threads cannot enter it.
pub const MIRROR_MODE: u32 = 0o750;
/// Setting of the mirror that keeps checkpoints: a fetch neither prunes nor overwrites them.
const OWN_REFS: &str = "remote.origin.fetch=^refs/ars/*";
/// Folder of dependencies that snapshots leave out.
const DEPS_FOLDER: &str = "node_modules";

/// The values of a cycle that its steps need. A step without its values has no plan.
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
    let root = |operation| vec![PlanStep::root(step.as_str(), operation).within(budget_ms)];
    let locked = |operation| {
        vec![
            PlanStep::root(step.as_str(), operation)
                .within(budget_ms)
                .locked(),
        ]
    };
    Some(match step {
        // The object mints the token; the container takes no part.
        Step::Mint => Vec::new(),
        Step::Inspect => root(Operation::Inspect),
        Step::AwaitRestores => root(Operation::AwaitStreams),
        Step::UnmountRestores => root(Operation::Unmount),
        // Trees of threads stay.
        Step::CleanWorkspace | Step::CleanBeforeRestore => {
            let checkout = Operation::RemoveTree {
                path: CHECKOUT.to_owned(),
            };
            let mut steps = root(Operation::Unmark { has_deps: true });
            steps.extend(locked(Operation::SetMirrorAside));
            steps.extend(locked(checkout));
            steps
        }
        Step::GitSetup => root(Operation::MakeDir {
            path: STATE.to_owned(),
            mode: STATE_MODE,
            owner: User::ROOT,
        }),
        Step::Clone => {
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
            locked(remote_git("/", &args, context.has_token))
        }
        Step::LockMirror => root(Operation::MakeDir {
            path: MIRROR.to_owned(),
            mode: MIRROR_MODE,
            owner: User::ROOT,
        }),
        Step::AdoptCheckpoints => locked(Operation::AdoptCheckpoints),
        Step::DetectDefaultBranch => root(git(MIRROR, &["symbolic-ref", "--short", "HEAD"])),
        Step::Fetch => locked(remote_git(
            MIRROR,
            &["fetch", "--prune", "origin"],
            context.has_token,
        )),
        Step::RevParse | Step::Verify => {
            let commit = format!("refs/heads/{}^{{commit}}", context.git_ref?);
            root(git(
                MIRROR,
                &["rev-parse", "--verify", "--end-of-options", &commit],
            ))
        }
        Step::LockfileKey => root(Operation::LockfileListing {
            sha: context.sha?.clone(),
        }),
        Step::CheckoutClone => checkout_clone(context, budget_ms)?,
        Step::Unmark => root(Operation::Unmark {
            has_deps: !context.keeps_deps && context.install.is_some(),
        }),
        Step::Install => {
            let (key, sha, command) = (
                context.key?.clone(),
                context.sha?.clone(),
                context.install?.clone(),
            );
            root(Operation::Install { key, sha, command })
        }
        Step::CheckoutUpdate => checkout_update(context, budget_ms)?,
        Step::LinkDeps => {
            let (key, tree) = (context.key?.clone(), CHECKOUT.to_owned());
            locked(Operation::LinkDeps {
                key,
                tree,
                owner: User::BUILD,
            })
        }
        Step::Build => {
            let (command, cwd) = (context.build?.clone(), CHECKOUT.to_owned());
            let run = Operation::TableCommand {
                user: Unprivileged::Build,
                command,
                cwd,
            };
            vec![
                PlanStep::of(step.as_str(), User::BUILD, run)
                    .within(budget_ms)
                    .locked(),
            ]
        }
        Step::Snapshot => {
            let archive = |name: &str, path: &str, without: Option<&str>| {
                let (path, without) = (path.to_owned(), without.map(str::to_owned));
                PlanStep::root(name, Operation::Archive { path, without })
                    .within(budget_ms)
                    .locked()
            };
            vec![
                archive("snapshot-mirror", MIRROR, None),
                archive("snapshot-checkout", CHECKOUT, Some(DEPS_FOLDER)),
            ]
        }
        Step::RestoreMirror => {
            let backup = context.snapshot?.mirror_backup_id.clone();
            locked(Operation::Extract {
                backup,
                path: MIRROR.to_owned(),
            })
        }
        Step::RestoreCheckout => {
            let backup = context.snapshot?.checkout_backup_id.clone();
            locked(Operation::Extract {
                backup,
                path: CHECKOUT.to_owned(),
            })
        }
        Step::AdoptDeps => root(Operation::AdoptDeps {
            key: context.key?.clone(),
            backup: None,
        }),
        Step::Mark => root(Operation::Mark {
            sha: context.sha?.clone(),
            key: context.key?.clone(),
        }),
    })
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
        PlanStep::of("checkout-update", User::BUILD, git(CHECKOUT, args))
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
