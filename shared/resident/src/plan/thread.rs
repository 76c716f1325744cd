//! Plans for trees of threads: check, kill, evict.

use ars_types::RefName;

use super::step::{Operation, PlanStep, User};
use crate::layout::{thread_dir, tree};
use crate::names::StrictThreadKey;
use crate::pool::PoolUser;

/// Time in which the processes of a user are killed.
const KILL_STEP_TIMEOUT_MS: i64 = 2_000;

/// Returns the step that checks a tree for unsaved work, as the thread's user.
pub fn check(thread: &StrictThreadKey, git_ref: &RefName, user: PoolUser) -> PlanStep {
    PlanStep::of("worktree-check", User::pool(user), Operation::CheckTree { tree: tree(thread, git_ref) })
}

/// Returns the step that kills the processes of a thread. It runs as that user, so it reaches no other.
pub fn kill(user: PoolUser) -> PlanStep {
    PlanStep::of("kill", User::pool(user), Operation::KillUser { user }).within(KILL_STEP_TIMEOUT_MS)
}

/// Returns the steps that remove a tree. A failed checkpoint ends them before the removal.
pub fn evict(
    thread: &StrictThreadKey,
    git_ref: &RefName,
    user: PoolUser,
    needs_checkpoint: bool,
) -> Vec<PlanStep> {
    let mut steps = Vec::new();
    if needs_checkpoint {
        let save = Operation::Checkpoint { tree: tree(thread, git_ref) };
        steps.push(PlanStep::of("worktree-checkpoint", User::pool(user), save).locked());
    }
    steps
        .push(PlanStep::root("worktree-remove", Operation::RemoveTree { path: thread_dir(thread) }).locked());
    steps.push(PlanStep::root("home-clean", Operation::CleanHome { user }));
    steps
}
