//! A tree's unsaved work, as the tree's user sees it.

use std::path::Path;

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::names::Sha;
use ars_resident::plan::User;
use ars_resident::thread::TreeCheck;

use super::hidden::has_hidden;
use crate::{
    failure::Result,
    git::{GitCall, GitOutput},
    runtime::Runtime,
    step::StepContext,
    stop::Stop,
};

/// Prefix of the `git status` line with the commit.
const OID: &str = "# branch.oid ";

pub(super) async fn check(step: &StepContext<'_>, tree: &str, tip: Option<&Sha>) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    match step.runtime.places.open_dir(tree) {
        Ok(_) => {}
        Err(failure) if failure.kind == FailureKind::NotFound => {
            return Ok(Answer::Tree { check: None });
        }
        Err(failure) => return Err(failure),
    }
    let real = step.runtime.places.real(tree)?;
    let check = inspect_tree(step.runtime, user, &real, tip, &step.stop).await?;
    Ok(Answer::Tree { check: Some(check) })
}

/// Reads a tree's state. A tree that git cannot read counts as unreadable.
pub(super) async fn inspect_tree(
    runtime: &Runtime,
    user: User,
    tree: &Path,
    tip: Option<&Sha>,
    stop: &Stop,
) -> Result<TreeCheck> {
    let unreadable = TreeCheck {
        is_readable: false,
        has_tracked_changes: false,
        has_untracked: false,
        has_unpushed: false,
        has_tip: false,
    };
    if std::fs::symlink_metadata(tree.join(".git")).is_err() {
        // Git would search for a repository further up.
        return Ok(unreadable);
    }
    let arguments = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=normal",
        "--ignore-submodules=none",
    ];
    let status = GitCall::in_tree(user, tree, arguments).run(runtime, stop);
    // Stashes and other branches are work too.
    let arguments = [
        "rev-list",
        "--max-count=1",
        "HEAD",
        "--branches",
        "--glob=refs/stash*",
        "--not",
        "--remotes",
    ];
    let unpushed = GitCall::in_tree(user, tree, arguments).run(runtime, stop);
    // Changes to these files are not part of a status.
    let hidden = has_hidden(runtime, user, tree, stop);
    let (status, unpushed, hidden) = tokio::join!(status, unpushed, hidden);
    let (status, unpushed) = (status?, unpushed?);
    if status.exit_code != 0 || unpushed.exit_code != 0 {
        return Ok(unreadable);
    }
    let lines = String::from_utf8_lossy(&status.stdout).into_owned();
    let has = |starts: &[&str]| {
        lines
            .lines()
            .any(|line| starts.iter().any(|start| line.starts_with(start)))
    };
    let head = lines
        .lines()
        .find_map(|line| line.strip_prefix(OID))
        .unwrap_or_default();
    Ok(TreeCheck {
        is_readable: true,
        has_tracked_changes: has(&["1 ", "2 ", "u "]),
        has_untracked: has(&["? "]) || hidden?,
        has_unpushed: !unpushed.stdout.is_empty(),
        has_tip: match tip {
            None => false,
            Some(tip) if tip.as_str() == head => true,
            Some(tip) => contains(runtime, user, tree, tip, stop).await?.exit_code == 0,
        },
    })
}

async fn contains(
    runtime: &Runtime,
    user: User,
    tree: &Path,
    tip: &Sha,
    stop: &Stop,
) -> Result<GitOutput> {
    GitCall::in_tree(
        user,
        tree,
        ["merge-base", "--is-ancestor", tip.as_str(), "HEAD"],
    )
    .run(runtime, stop)
    .await
}
