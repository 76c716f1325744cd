//! The spare tree: a complete default-branch tree that is made before a thread needs it.
//!
//! An attach moves it into place, so it does not wait for a checkout. Until then only root can
//! reach it. Not here: when it is made, and who gets it (`shared/resident-engine`).

use ars_types::StrictRefName;

use super::attach::PRIVATE_MODE;
use super::step::{FETCH_TIMEOUT_MS, Operation, PlanStep, User, clone_at, git};
use crate::layout::{MIRROR, SPARE, SPARES};
use crate::names::LockfileKey;
use crate::pool::PoolUser;

/// Name of the step that moves the spare tree into place.
pub const TAKE_SPARE: &str = "spare-take";

/// The tree to make.
#[derive(Debug, Clone, Copy)]
pub struct SpareContext<'a> {
    /// The ref that the tree is at.
    pub git_ref: &'a StrictRefName,
    /// The pool user that owns the tree.
    pub user: PoolUser,
    /// Dependencies to link. `None` without an install command.
    pub deps: Option<&'a LockfileKey>,
    /// The repository's URL at the code host.
    pub origin: &'a str,
}

/// Returns the steps that make the spare tree, in place of an earlier spare tree.
pub fn make_spare(context: SpareContext<'_>) -> Vec<PlanStep> {
    let SpareContext {
        git_ref,
        user,
        deps,
        origin,
    } = context;
    let (tree, owner) = (SPARE.to_owned(), User::pool(user));
    let folder = Operation::MakeDir {
        path: SPARES.to_owned(),
        mode: PRIVATE_MODE,
        owner: User::ROOT,
    };
    let settings = format!("{SPARE}/.git/config");
    let remote = git(
        MIRROR,
        &["config", "--file", &settings, "remote.origin.url", origin],
    );
    let own = Operation::ChangeOwner {
        path: tree.clone(),
        owner,
    };
    let mut steps = vec![
        PlanStep::root("spare-dir", folder),
        remove_spare(),
        PlanStep::root("spare-clone", clone_at(git_ref, SPARE))
            .within(FETCH_TIMEOUT_MS)
            .locked(),
        // Before its user owns the tree, because root's git changes the file.
        PlanStep::root("spare-remote", remote),
        PlanStep::root("spare-chown", own),
    ];
    if let Some(key) = deps {
        let link = Operation::LinkDeps {
            key: key.clone(),
            tree: tree.clone(),
            owner,
        };
        steps.push(PlanStep::root("spare-deps", link).within(FETCH_TIMEOUT_MS));
    }
    let builds = Operation::CopyBuilds { tree, owner };
    steps.push(PlanStep::root("spare-builds", builds).within(FETCH_TIMEOUT_MS));
    steps.push(
        PlanStep::root("spare-refresh", Operation::RefreshSpare { owner }).within(FETCH_TIMEOUT_MS),
    );
    steps
}

/// Returns the step that removes the spare tree.
pub fn remove_spare() -> PlanStep {
    PlanStep::root(
        "spare-remove",
        Operation::DiscardTree {
            path: SPARE.to_owned(),
        },
    )
}
