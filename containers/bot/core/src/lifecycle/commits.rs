//! The commits in a tree that the code host does not have.
//!
//! A git failure is an error here: a tree that cannot be read is not a tree without commits.

use ars_bot_ports::{GitRequest, PUSHED_REFS, Refusal, Workspace, WorkspaceError};
use ars_codehost::{diff::Commit, text::neutral_line};
use tokio_util::sync::CancellationToken;

/// Maximum size in bytes of git's output; a number or the first change decides.
const MAX_GIT_FACT_BYTES: usize = 300;
/// Maximum characters of a failure's text.
const MAX_GIT_FAILURE_CHARS: usize = 300;
/// Excludes the service's branches from the next `--remotes`.
const SERVICE_BRANCHES: &str = "--exclude=*/ars/*";

/// A git failure in the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum GitFailed {
    /// It ended with an error.
    #[error("`git {command}` failed in the working tree (exit code {exit_code})")]
    Exit {
        /// The git subcommand that failed.
        command: String,
        /// The subcommand's exit code.
        exit_code: i32,
    },
    /// It could not run.
    #[error("git could not run in the working tree: {0}")]
    NotRun(String),
}

impl From<WorkspaceError> for GitFailed {
    fn from(error: WorkspaceError) -> Self {
        Self::NotRun(neutral_line(&error.to_string(), MAX_GIT_FAILURE_CHARS))
    }
}

impl From<GitFailed> for Refusal {
    fn from(error: GitFailed) -> Self {
        Self::WorkspaceNotReady(WorkspaceError::Infra(error.to_string()))
    }
}

/// Returns the tree's commit, or `None` before a first commit.
pub(super) async fn head(workspace: &dyn Workspace) -> Result<Option<Commit>, GitFailed> {
    if let Some(head) = workspace.head().await?.as_deref().and_then(Commit::parse) {
        return Ok(Some(head));
    }
    // It succeeds before a first commit, and not in a damaged repository.
    answer(workspace, &["status", "--porcelain"])
        .await
        .map(|_| None)
}

/// Returns how many of the tree's commits no push and no fetch brought to or from the origin.
pub(super) async fn unpushed(workspace: &dyn Workspace) -> Result<u64, GitFailed> {
    let pushed = format!("--glob={PUSHED_REFS}*");
    let count = answer(
        workspace,
        &["rev-list", "--count", "HEAD", "--not", "--remotes", &pushed],
    )
    .await?;
    number(&count)
}

/// Returns how many of the tree's commits neither the base nor other people's branches have.
/// Commits that an agent's command pushed to a service branch count.
pub(super) async fn since(workspace: &dyn Workspace, base: &Commit) -> Result<u64, GitFailed> {
    let arguments = [
        "rev-list",
        "--count",
        "HEAD",
        "--not",
        SERVICE_BRANCHES,
        "--remotes",
        base.as_str(),
    ];
    number(&answer(workspace, &arguments).await?)
}

fn number(count: &str) -> Result<u64, GitFailed> {
    count
        .trim()
        .parse()
        .map_err(|_| GitFailed::NotRun("its answer could not be read".to_owned()))
}

/// Returns whether the tree has changes or files that no commit has.
pub(super) async fn is_dirty(workspace: &dyn Workspace) -> Result<bool, GitFailed> {
    let status = answer(
        workspace,
        &["status", "--porcelain", "--untracked-files=normal"],
    )
    .await?;
    Ok(!status.is_empty())
}

/// Returns whether the tree's commit contains another commit. It does not contain an unknown
/// commit.
pub(super) async fn contains(
    workspace: &dyn Workspace,
    commit: &Commit,
) -> Result<bool, GitFailed> {
    let arguments = ["merge-base", "--is-ancestor", commit.as_str(), "HEAD"];
    let request = GitRequest {
        arguments: &arguments,
        output_limit: MAX_GIT_FACT_BYTES,
    };
    Ok(workspace
        .git(request, &CancellationToken::new())
        .await?
        .exit_code
        == 0)
}

async fn answer(workspace: &dyn Workspace, arguments: &[&str]) -> Result<String, GitFailed> {
    let request = GitRequest {
        arguments,
        output_limit: MAX_GIT_FACT_BYTES,
    };
    let answer = workspace.git(request, &CancellationToken::new()).await?;
    if answer.exit_code != 0 {
        let command = arguments.first().copied().unwrap_or_default().to_owned();
        return Err(GitFailed::Exit {
            command,
            exit_code: answer.exit_code,
        });
    }
    Ok(String::from_utf8_lossy(&answer.output).into_owned())
}
