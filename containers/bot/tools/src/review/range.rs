//! What a branch changes since it left another: `git diff <base>...HEAD`, as a reader of it asks.
//!
//! Commits only: work that is not committed is not under review. Not here: what is made of the output.

use ars_bot_ports::{GitAnswer, GitRequest, Workspace, WorkspaceError};
use ars_types::RefName;
use tokio_util::sync::CancellationToken;

/// Where a clone's git notes the branch that its origin calls the default.
const DEFAULT_BASE: &str = "origin/HEAD";
/// The same output whatever the repository's own configuration prefers, and no program of its choosing is run.
const FIXED_FORM: &[&str] = &[
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// What a range is measured from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    /// The origin's default branch.
    Default,
    /// That branch of the origin, or the default one where it is not known (bot supplement section 17).
    BranchOrDefault(&'a RefName),
    /// That branch of the origin, or that ref or commit; no other will do.
    Exactly(&'a RefName),
}

impl Base<'_> {
    /// The refs to try, in order.
    fn candidates(self) -> Vec<String> {
        match self {
            Self::Default => vec![DEFAULT_BASE.to_owned()],
            Self::BranchOrDefault(branch) => vec![format!("origin/{branch}"), DEFAULT_BASE.to_owned()],
            Self::Exactly(name) => vec![format!("origin/{name}"), name.to_string()],
        }
    }
}

/// The output of `git diff` with these options over the range, and the ref it was measured from; none when no such
/// ref shares a commit with the tree's own.
pub(crate) async fn git_of_range(
    workspace: &dyn Workspace,
    base: Base<'_>,
    options: &[&str],
    output_limit: usize,
    cancel: &CancellationToken,
) -> Result<Option<(String, GitAnswer)>, WorkspaceError> {
    for candidate in base.candidates() {
        let range = format!("{candidate}...HEAD");
        let arguments: Vec<&str> =
            ["diff"].iter().chain(FIXED_FORM).chain(options).copied().chain([range.as_str(), "--"]).collect();
        let request = GitRequest { arguments: &arguments, output_limit };
        let answer = workspace.git(request, cancel).await?;
        if answer.exit_code == 0 {
            return Ok(Some((candidate, answer)));
        }
    }
    Ok(None)
}
