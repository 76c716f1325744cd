//! Whether a tree has work that would be lost with it.
//!
//! Files that git ignores do not count: builds and dependencies are most of a tree's size. Whatever cannot be checked
//! counts as work.

use std::path::Path;

use ars_bot_ports::WorkspaceError;

use super::git::{CALL_TIMEOUT, Git, GitLimits, INDEX};

/// Limits for a check. The first output byte decides.
const CHECK: GitLimits = GitLimits {
    time: CALL_TIMEOUT,
    output: 4 << 10,
};

/// Returns whether a tree has no change, new file, own commit or second worktree. `base` is the
/// commit that it started from.
pub(super) async fn is_clean(git: &Git<'_>, base: Option<&str>) -> Result<bool, WorkspaceError> {
    let status = [
        "status",
        "--porcelain",
        "--untracked-files=all",
        "--ignore-submodules=none",
    ];
    if !prints_nothing(git, &status).await? {
        return Ok(false);
    }
    // A status does not include changes to these files.
    if has_hidden_files(git).await? {
        return Ok(false);
    }
    // Stashes are refs, and the reflog has commits that no branch reaches any more. A clone has all
    // the origin's tags, also for commits that no branch has; the tree's own tagged commits are in
    // the reflog.
    let own = [
        "rev-list",
        "--max-count=1",
        "--exclude=refs/tags/*",
        "--all",
        "--reflog",
        "--not",
        "--remotes",
    ];
    let own: Vec<_> = own.into_iter().chain(base).collect();
    Ok(prints_nothing(git, &own).await? && !has_worktrees(git.place))
}

/// Returns whether the index has files that git does not compare, or is too long to know.
async fn has_hidden_files(git: &Git<'_>) -> Result<bool, WorkspaceError> {
    let answer = git
        .run(git.inside(&["ls-files", "-v"]), INDEX)
        .await?
        .succeeded()?;
    let is_plain = |line: &[u8]| line.is_empty() || line.starts_with(b"H ");
    Ok(answer.dropped > 0 || !answer.output.split(|byte| *byte == b'\n').all(is_plain))
}

async fn prints_nothing(git: &Git<'_>, arguments: &[&str]) -> Result<bool, WorkspaceError> {
    let answer = git
        .run_on_all(|| git.inside(arguments), CHECK)
        .await?
        .succeeded()?;
    Ok(answer.output.is_empty() && answer.dropped == 0 && !answer.is_denied())
}

/// Returns whether the repository has further worktrees. The checks do not see their changes.
fn has_worktrees(place: &Path) -> bool {
    let folder = place.join("tree/.git/worktrees");
    folder.symlink_metadata().is_ok()
}
