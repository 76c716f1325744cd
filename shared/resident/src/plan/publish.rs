//! Plans between a thread's tree and the code host: pushes, and checking out a commit.
//!
//! Commits pass through the mirror, where root's git reads no setting from the tree, so a tree
//! cannot redirect a push or read its credential.

use ars_types::StrictRefName;

use super::step::{FETCH_TIMEOUT_MS, Operation, PlanStep, User, git, remote_git};
use crate::layout::{MIRROR, tree};
use crate::names::{RunBranch, Sha, StrictThreadKey};
use crate::pool::PoolUser;
use crate::wire::CheckOutFrom;

/// A commit, and the thread's tree that has it or gets it.
#[derive(Debug, Clone, Copy)]
pub struct PublishContext<'a> {
    /// Key of the thread.
    pub thread: &'a StrictThreadKey,
    /// The ref that the tree is at.
    pub git_ref: &'a StrictRefName,
    /// The thread's pool user.
    pub user: PoolUser,
    /// The commit to move.
    pub sha: &'a Sha,
}

impl CheckOutFrom {
    /// Returns the ref in the mirror, which uses the code host's names.
    fn in_mirror(&self) -> String {
        match self {
            Self::PullRequest(number) => format!("refs/pull/{number}/head"),
            Self::Branch(branch) => format!("refs/heads/{branch}"),
        }
    }

    /// Returns the ref in a tree. Commits below it count as saved.
    fn in_tree(&self) -> String {
        match self {
            Self::PullRequest(number) => format!("refs/remotes/origin/pull/{number}"),
            Self::Branch(branch) => format!("refs/remotes/origin/{branch}"),
        }
    }
}

/// Returns the step that brings the commit into the mirror.
pub fn receive(context: PublishContext<'_>) -> PlanStep {
    let PublishContext {
        thread,
        git_ref,
        user,
        sha,
    } = context;
    let receive = Operation::ReceiveCommit {
        tree: tree(thread, git_ref),
        sha: sha.clone(),
    };
    PlanStep::new("commit-receive", User::pool(user), receive)
        .within(FETCH_TIMEOUT_MS)
        .locked()
}

/// Returns the step that pushes a commit from the mirror, as a fast-forward only.
pub fn push(origin: &str, sha: &Sha, branch: &RunBranch, has_token: bool) -> PlanStep {
    let refs = format!("{sha}:refs/heads/{branch}");
    let options = [
        "push",
        "--no-follow-tags",
        "--recurse-submodules=no",
        "--end-of-options",
    ];
    let push = remote_git(
        MIRROR,
        &[&options[..], &[origin, &refs]].concat(),
        has_token,
    );
    PlanStep::root("push", push)
        .within(FETCH_TIMEOUT_MS)
        .locked()
}

/// Returns the steps that note a push in the mirror and in the tree. Its commits then count as saved.
pub fn note_pushed(context: PublishContext<'_>, branch: &RunBranch) -> [PlanStep; 2] {
    let PublishContext {
        thread,
        git_ref,
        user,
        sha,
    } = context;
    let from = CheckOutFrom::Branch(branch.clone());
    let note = |folder: &str, name: String| {
        git(
            folder,
            &["update-ref", "--end-of-options", &name, sha.as_str()],
        )
    };
    [
        PlanStep::root("push-note-mirror", note(MIRROR, from.in_mirror())).locked(),
        PlanStep::new(
            "push-note",
            User::pool(user),
            note(&tree(thread, git_ref), from.in_tree()),
        ),
    ]
}

/// Returns the step that fetches a single ref from the code host. The mirror's other refs stay as
/// they are.
pub fn fetch_ref(from: &CheckOutFrom, has_token: bool) -> PlanStep {
    let name = from.in_mirror();
    let refs = format!("+{name}:{name}");
    let fetch = remote_git(MIRROR, &["fetch", "--no-tags", "origin", &refs], has_token);
    PlanStep::root("fetch-ref", fetch)
        .within(FETCH_TIMEOUT_MS)
        .locked()
}

/// Returns the step that succeeds if the mirror's ref contains the commit.
pub fn contains(sha: &Sha, from: &CheckOutFrom) -> PlanStep {
    let arguments = [
        "merge-base",
        "--is-ancestor",
        sha.as_str(),
        &from.in_mirror(),
    ];
    PlanStep::root("commit-find", git(MIRROR, &arguments))
}

/// Returns the steps that check out a commit from the mirror. Changes in the tree that would be
/// lost make the last step fail.
pub fn check_out(context: PublishContext<'_>, from: &CheckOutFrom) -> [PlanStep; 2] {
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
        name: from.in_tree(),
    };
    let arguments: &[&str] = match from {
        CheckOutFrom::PullRequest(_) => &["checkout", "--quiet", "--detach", sha.as_str(), "--"],
        CheckOutFrom::Branch(_) => &[
            "checkout",
            "--quiet",
            "-B",
            git_ref.as_str(),
            sha.as_str(),
            "--",
        ],
    };
    [
        PlanStep::new("commit-send", owner, send)
            .within(FETCH_TIMEOUT_MS)
            .locked(),
        PlanStep::new("check-out", owner, git(&path, arguments)).within(FETCH_TIMEOUT_MS),
    ]
}
