//! Plans an attach.

use ars_types::StrictRefName;

use super::spare::TAKE_SPARE;
use super::step::{FETCH_TIMEOUT_MS, Operation, PlanStep, User, clone_at, git, remote_git};
use crate::layout::{MIRROR, THREADS, thread_dir, tree};
use crate::names::{LockfileKey, StrictThreadKey};
use crate::pool::PoolUser;
use crate::thread::TreeDecision;

/// Permissions for the folder that all threads share.
const SHARED_MODE: u32 = 0o755;
/// Permissions for a single thread's folder.
pub(super) const PRIVATE_MODE: u32 = 0o700;

/// Everything decided for an attach.
#[derive(Debug, Clone)]
pub struct AttachContext<'a> {
    /// Key of the thread.
    pub thread: &'a StrictThreadKey,
    /// The ref that the tree is at.
    pub git_ref: &'a StrictRefName,
    /// The thread's pool user.
    pub user: PoolUser,
    /// The decision about the tree.
    pub tree: TreeDecision,
    /// The spare tree becomes the new tree.
    pub takes_spare: bool,
    /// The mirror lacks the ref or the expected commit.
    pub needs_fetch: bool,
    /// A token was minted.
    pub has_token: bool,
    /// The tree gets no token, and the origin is the mirror.
    pub readonly: bool,
    /// Dependencies to link. `None` without an install command.
    pub deps: Option<&'a LockfileKey>,
    /// The repository's URL at the code host.
    pub origin: &'a str,
}

/// Returns the attach steps.
pub fn attach(context: &AttachContext<'_>) -> Vec<PlanStep> {
    let mut steps = Vec::new();
    if context.needs_fetch {
        let fetch = remote_git(MIRROR, &["fetch", "--prune", "origin"], context.has_token);
        steps.push(
            PlanStep::root("fetch", fetch)
                .within(FETCH_TIMEOUT_MS)
                .locked(),
        );
    }
    let path = tree(context.thread, context.git_ref);
    let owner = User::pool(context.user);
    let creates = match context.tree {
        TreeDecision::Reuse => false,
        TreeDecision::Create => true,
        TreeDecision::Replace { needs_checkpoint } => {
            if needs_checkpoint {
                // A failed checkpoint ends the plan, so the tree stays.
                let save = Operation::Checkpoint { tree: path.clone() };
                steps.push(PlanStep::new("worktree-checkpoint", owner, save).locked());
            }
            true
        }
    };
    if creates {
        steps.extend(create(context, &path, owner));
    }
    steps.push(credential(context, &path, owner));
    steps
}

fn create(context: &AttachContext<'_>, path: &str, owner: User) -> Vec<PlanStep> {
    let dir = thread_dir(context.thread);
    let make = |path: &str, mode, owner| Operation::MakeDir {
        path: path.to_owned(),
        mode,
        owner,
    };
    let origin = if context.readonly {
        MIRROR
    } else {
        context.origin
    };
    // From here on the tree is the thread's, so git runs as that user.
    let remote = PlanStep::new(
        "worktree-remote",
        owner,
        git(path, &["remote", "set-url", "origin", origin]),
    );
    let mut steps = vec![
        PlanStep::root("threads-dir", make(THREADS, SHARED_MODE, User::ROOT)),
        PlanStep::root("thread-dir", make(&dir, PRIVATE_MODE, User::ROOT)),
    ];
    let clean = PlanStep::root(
        "worktree-clean",
        Operation::DiscardTree {
            path: path.to_owned(),
        },
    );
    if context.takes_spare {
        // Without the mirror lock: a refresh does not delay it.
        steps.push(clean);
        let take = Operation::TakeSpare {
            tree: path.to_owned(),
        };
        steps.push(PlanStep::root(TAKE_SPARE, take));
        steps.push(PlanStep::root(
            "thread-own",
            make(&dir, PRIVATE_MODE, owner),
        ));
        // The spare tree's origin is the code host.
        steps.extend(context.readonly.then_some(remote));
        return steps;
    }
    steps.extend([
        clean,
        PlanStep::root("worktree-clone", clone_at(context.git_ref, path))
            .within(FETCH_TIMEOUT_MS)
            .locked(),
        PlanStep::root(
            "worktree-chown",
            Operation::ChangeOwner { path: dir, owner },
        )
        .locked(),
        remote,
    ]);
    if let Some(key) = context.deps {
        let link = Operation::LinkDeps {
            key: key.clone(),
            tree: path.to_owned(),
            owner,
        };
        steps.push(
            PlanStep::root("deps-link", link)
                .within(FETCH_TIMEOUT_MS)
                .locked(),
        );
    }
    let copy = Operation::CopyBuilds {
        tree: path.to_owned(),
        owner,
    };
    steps.push(PlanStep::root("builds-copy", copy).within(FETCH_TIMEOUT_MS));
    steps
}

fn credential(context: &AttachContext<'_>, path: &str, owner: User) -> PlanStep {
    let tree = path.to_owned();
    match context.readonly || !context.has_token {
        true => PlanStep::new(
            "credential-scrub",
            owner,
            Operation::ScrubCredential { tree },
        ),
        false => PlanStep::new(
            "credential-write",
            owner,
            Operation::WriteCredential { tree },
        ),
    }
}
