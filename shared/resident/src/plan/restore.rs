//! Plans how a thread's tree gets a checkpoint's content.

use super::publish::PublishContext;
use super::step::{FETCH_TIMEOUT_MS, Operation, PlanStep, User, git};
use crate::layout::{MIRROR, tree};
use crate::names::Sha;

/// The ref in the tree that keeps a restored checkpoint's objects. It is no remote branch, because
/// commits below those count as saved.
const RESTORED: &str = "refs/ars/restored";

/// Returns the step that reads the first line in a commit's message. It fails if the mirror lacks
/// the commit.
pub fn find_checkpoint(sha: &Sha) -> PlanStep {
    let arguments = [
        "log",
        "--max-count=1",
        "--format=%s",
        "--end-of-options",
        sha.as_str(),
    ];
    PlanStep::root("checkpoint-find", git(MIRROR, &arguments))
}

/// Returns the steps that restore a checkpoint in a tree without work.
///
/// If the service made the commit, it becomes changes to its first parent, and nothing is staged.
/// Any other commit is the thread's own, and the branch moves to it. Files that would be lost make
/// the second step fail.
pub fn restore(context: PublishContext<'_>, is_of_service: bool) -> Vec<PlanStep> {
    let PublishContext {
        thread,
        git_ref,
        user,
        sha,
    } = context;
    let (path, owner) = (tree(thread, git_ref), User::pool(user));
    let send = Operation::SendCommit {
        tree: path.clone(),
        sha: sha.clone(),
        name: RESTORED.to_owned(),
    };
    let check_out = [
        "checkout",
        "--quiet",
        "--no-overwrite-ignore",
        "-B",
        git_ref.as_str(),
        sha.as_str(),
        "--",
    ];
    let mut steps = vec![
        PlanStep::new("checkpoint-send", owner, send)
            .within(FETCH_TIMEOUT_MS)
            .locked(),
        PlanStep::new("checkpoint-check-out", owner, git(&path, &check_out))
            .within(FETCH_TIMEOUT_MS),
    ];
    if is_of_service {
        let parent = format!("{sha}^1");
        let unstage = git(&path, &["reset", "--quiet", "--mixed", &parent, "--"]);
        steps.push(PlanStep::new("checkpoint-unstage", owner, unstage).within(FETCH_TIMEOUT_MS));
    }
    steps
}
