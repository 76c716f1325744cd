//! A review's reading diff, for people who read it next to the answer.
//!
//! Git makes it concurrently, so it neither delays nor fails the review. Not here: the abridged
//! form, which a large model makes on demand.

use ars_bot_ports::Workspace;
use ars_codehost::{diff::Commit, review::readable_diff};
use ars_events::{ArtifactKind, DiffProvider, EventBody, Redactor};
use ars_types::RefName;
use tokio_util::sync::CancellationToken;

use super::range::{Base, git_of_range};

/// Maximum bytes requested from git, far above the cap, so that redaction precedes the final cut.
const DIFF_BYTES: usize = 1 << 20;

/// Returns the artifact for reviewing the tree's commits. They are compared with `origin/<branch>`,
/// or the origin's default branch. The tree may have an old commit of it, so the merge base that
/// the code host names counts first. `None` when git fails or nothing changed.
pub async fn reading_diff(
    workspace: &dyn Workspace,
    branch: Option<&RefName>,
    merge_base: Option<&Commit>,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> Option<EventBody> {
    let base = match (branch, merge_base) {
        (Some(branch), Some(commit)) => Base::CommitOrBranch(commit, branch),
        (Some(branch), None) => Base::BranchOrDefault(branch),
        (None, _) => Base::Default,
    };
    let (base_ref, answer) = match git_of_range(workspace, base, &[], DIFF_BYTES, cancel).await {
        Ok(found) => found?,
        Err(error) => {
            tracing::warn!(error = %error, "no reading diff: git was not run");
            return None;
        }
    };
    let base_ref = match (branch, merge_base) {
        (Some(branch), Some(commit)) if base_ref == commit.as_str() => format!("origin/{branch}"),
        _ => base_ref,
    };
    let (diff, truncated) = readable_diff(&answer.output, answer.truncated, redactor);
    (!diff.trim().is_empty()).then_some(EventBody::ReviewArtifact {
        artifact: ArtifactKind::ReadingDiff,
        powered_by: DiffProvider::Git,
        base_ref,
        diff,
        truncated,
        summary: None,
        meat_tokens: None,
    })
}
