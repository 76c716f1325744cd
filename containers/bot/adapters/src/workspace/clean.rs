//! Whether a tree has work that would be lost with it.
//!
//! Files that git ignores do not count: builds and dependencies are most of a tree's size. Whatever cannot be checked
//! counts as work.

use std::path::Path;

use ars_bot_ports::WorkspaceError;

use super::git::{CALL_TIMEOUT, Git, Limits};

/// Limits of a check, of whose output the first byte decides.
const CHECK: Limits = Limits { time: CALL_TIMEOUT, output: 4 << 10 };

/// Returns whether a tree has no change, new file, commit of its own or second worktree.
/// `base` is the commit that it started from.
pub(super) async fn is_clean(git: &Git<'_>, base: Option<&str>) -> Result<bool, WorkspaceError> {
    let status = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none"];
    if !prints_nothing(git, &status).await? {
        return Ok(false);
    }
    // Stashes are refs, and the reflog has commits that no branch reaches any more.
    let own = ["rev-list", "--max-count=1", "--all", "--reflog", "--not", "--remotes"];
    let own: Vec<_> = own.into_iter().chain(base).collect();
    Ok(prints_nothing(git, &own).await? && !has_worktrees(git.place))
}

async fn prints_nothing(git: &Git<'_>, arguments: &[&str]) -> Result<bool, WorkspaceError> {
    let answer = git.run(git.inside(arguments), CHECK).await?.succeeded()?;
    Ok(answer.output.is_empty() && answer.dropped == 0)
}

/// Returns whether the repository has further worktrees, whose changes the checks do not see.
fn has_worktrees(place: &Path) -> bool {
    let folder = place.join("tree/.git/worktrees");
    folder.symlink_metadata().is_ok()
}
