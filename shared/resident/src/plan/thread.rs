//! Plans for threads' trees: check, save, credentials, kill, evict, abandon.

use ars_types::StrictRefName;

use super::step::{Operation, PlanStep, User};
use crate::layout::{deps_entry, op_dir, thread_dir, tree};
use crate::names::{BackupId, LockfileKey, Sha, StrictThreadKey, TableCommand};
use crate::pool::{Holder, PoolUser};

/// Time in which a user's processes are killed.
const KILL_STEP_TIMEOUT_MS: i64 = 2_000;
/// Time in which dependencies are installed, archived or restored.
const INSTALL_TIMEOUT_MS: i64 = 600_000;
/// Time in which removed trees are deleted.
const TRASH_TIMEOUT_MS: i64 = 300_000;

/// Returns the step that checks a tree for unsaved work, as the thread's user.
/// `tip` is that of its ref in the mirror.
pub fn check(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
    tip: Option<&Sha>,
) -> PlanStep {
    let check = Operation::CheckTree {
        tree: tree(thread, git_ref),
        tip: tip.cloned(),
    };
    PlanStep::new("worktree-check", User::pool(user), check)
}

/// Returns the step that saves a tree's work below `refs/ars`. Tree and index are unchanged.
pub fn checkpoint(thread: &StrictThreadKey, git_ref: &StrictRefName, user: PoolUser) -> PlanStep {
    let save = Operation::Checkpoint {
        tree: tree(thread, git_ref),
    };
    PlanStep::new("worktree-checkpoint", User::pool(user), save).locked()
}

/// Returns the step that reports a tree's credential file, before a command in a writable tree.
pub fn check_credential(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
) -> PlanStep {
    let check = Operation::CheckCredential {
        tree: tree(thread, git_ref),
    };
    PlanStep::new("credential-check", User::pool(user), check)
}

/// Returns the step that replaces a tree's credential.
pub fn write_credential(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
) -> PlanStep {
    let write = Operation::WriteCredential {
        tree: tree(thread, git_ref),
    };
    PlanStep::new("credential-write", User::pool(user), write)
}

/// Returns the step that installs dependencies into the store, unless it has their entry.
/// Without the lock, before an attach or operation that links them.
pub fn install(key: &LockfileKey, sha: &Sha, command: &TableCommand) -> PlanStep {
    let install = Operation::Install {
        key: key.clone(),
        sha: sha.clone(),
        command: command.clone(),
    };
    PlanStep::root("install", install).within(INSTALL_TIMEOUT_MS)
}

/// Returns the step that kills a thread's processes. It runs as that user, so it reaches no other.
pub fn kill(user: PoolUser) -> PlanStep {
    PlanStep::new("kill", User::pool(user), Operation::KillUser { user })
        .within(KILL_STEP_TIMEOUT_MS)
}

/// Returns the steps that remove a tree. A failed checkpoint ends them before the removal.
///
/// The first step kills the thread's processes: later they would change the tree after the
/// checkpoint, or run as the next thread's user.
pub fn evict(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
    needs_checkpoint: bool,
) -> Vec<PlanStep> {
    let mut steps = vec![kill(user)];
    if needs_checkpoint {
        steps.push(checkpoint(thread, git_ref, user));
    }
    steps.push(PlanStep::root(
        "worktree-remove",
        Operation::DiscardTree {
            path: thread_dir(thread),
        },
    ));
    steps.push(clean_home(user));
    steps
}

/// Returns the step that removes everything a user's last holder left in its home. Before it
/// succeeds, the user is not free.
pub fn clean_home(user: PoolUser) -> PlanStep {
    PlanStep::root("home-clean", Operation::CleanHome { user })
}

/// Returns the steps that remove everything left by an operation or attach that did not end. No
/// command ran in its tree.
pub fn abandon(user: PoolUser, holder: &Holder) -> Vec<PlanStep> {
    let path = match holder {
        Holder::Thread(thread) => thread_dir(thread),
        Holder::Op(number) => op_dir(*number),
    };
    vec![
        kill(user),
        PlanStep::root("orphan-remove", Operation::DiscardTree { path }),
        clean_home(user),
    ]
}

/// Returns the step that waits until removed trees are deleted. Their space is free after it.
pub fn empty_trash() -> PlanStep {
    PlanStep::root("trash-empty", Operation::EmptyTrash).within(TRASH_TIMEOUT_MS)
}

/// Returns the step that uses a store entry, or restores it from the archive.
pub fn adopt_deps(key: &LockfileKey, backup: Option<BackupId>) -> PlanStep {
    let adopt = Operation::AdoptDeps {
        key: key.clone(),
        backup,
    };
    PlanStep::root("adopt-deps", adopt).within(INSTALL_TIMEOUT_MS)
}

/// Returns the step that archives a store entry. Without the lock, because a complete entry does
/// not change.
pub fn archive_deps(key: &LockfileKey) -> PlanStep {
    let archive = Operation::Archive {
        path: deps_entry(key),
        without: None,
    };
    PlanStep::root("deps-archive", archive).within(INSTALL_TIMEOUT_MS)
}

/// Returns the step that removes unused store entries. Entries for the checkout and for bound trees
/// stay.
pub fn sweep_deps(keep: Vec<LockfileKey>) -> PlanStep {
    PlanStep::root("deps-sweep", Operation::SweepDeps { keep }).within(INSTALL_TIMEOUT_MS)
}
