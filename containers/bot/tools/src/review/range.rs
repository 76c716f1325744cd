//! A branch's changes since the merge base: `git diff <base>...HEAD`.
//!
//! Commits only, because uncommitted work is not under review. Not here: interpreting the output.

use ars_bot_ports::{GitAnswer, GitRequest, Workspace, WorkspaceError};
use ars_codehost::diff::Commit;
use ars_types::RefName;
use tokio_util::sync::CancellationToken;

/// The ref for the origin's default branch in a clone.
const DEFAULT_BASE: &str = "origin/HEAD";
/// Options for output independent of the repository's configuration and without running its programs.
const FIXED_FORM: &[&str] = &[
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A range's base.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The origin's default branch.
    Default,
    /// That branch at the origin, or the default branch if it is not known.
    BranchOrDefault(&'a RefName),
    /// That commit, or else as above, if the tree does not have it.
    CommitOrBranch(&'a Commit, &'a RefName),
    /// That branch at the origin, or that ref or commit, without a fallback.
    Exactly(&'a RefName),
}

impl Base<'_> {
    /// Returns the refs to try, in order.
    fn candidates(self) -> Vec<String> {
        match self {
            Self::Default => vec![DEFAULT_BASE.to_owned()],
            Self::BranchOrDefault(branch) => {
                vec![format!("origin/{branch}"), DEFAULT_BASE.to_owned()]
            }
            Self::CommitOrBranch(commit, branch) => [
                vec![commit.to_string()],
                Self::BranchOrDefault(branch).candidates(),
            ]
            .concat(),
            Self::Exactly(name) => vec![format!("origin/{name}"), name.to_string()],
        }
    }
}

/// Returns the output of `git diff` with these options over the range, and the base ref.
/// `None` when no such ref shares a commit with the tree's own.
pub(crate) async fn git_of_range(
    workspace: &dyn Workspace,
    base: Base<'_>,
    options: &[&str],
    output_limit: usize,
    cancel: &CancellationToken,
) -> Result<Option<(String, GitAnswer)>, WorkspaceError> {
    for candidate in base.candidates() {
        let range = format!("{candidate}...HEAD");
        let arguments: Vec<&str> = ["diff"]
            .iter()
            .chain(FIXED_FORM)
            .chain(options)
            .copied()
            .chain([range.as_str(), "--"])
            .collect();
        let request = GitRequest {
            arguments: &arguments,
            output_limit,
        };
        let answer = workspace.git(request, cancel).await?;
        if answer.exit_code == 0 {
            return Ok(Some((candidate, answer)));
        }
    }
    Ok(None)
}
