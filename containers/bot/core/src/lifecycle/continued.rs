//! The pull request that a coding run continues, before the first model call.
//!
//! A request may name a pull request. If it is open and the service made it and its branch, the
//! tree gets the head, and the run's commits go to that branch. Otherwise the run has its own
//! branch, and the new pull request refers to the named pull request. Not here: the push
//! (`pull_request`).

use ars_bot_ports::{Refusal, Workspace, WorkspaceError, code_host::PullRequestFacts};
use ars_codehost::{diff::Commit, review::PullRequestState, run_of_branch};
use ars_types::{RefName, RepoSlug};
use tokio_util::sync::CancellationToken;

use super::{
    commits,
    review_target::{NamingRequest, check_out, failed, number_of},
};
use crate::run::{ContinuedBranch, NamedPullRequest, RunCodeHost};

/// A named pull request, and the prompt part about it.
pub(super) struct NamedTarget {
    pub(super) named: NamedPullRequest,
    pub(super) block: String,
}

/// Why a run does not continue the named pull request.
enum NotContinued {
    /// The run has its own branch instead.
    Because(&'static str),
    /// The run cannot start.
    Refused(Refusal),
}

impl<E: Into<Refusal>> From<E> for NotContinued {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// Finds the pull request that a request's text names, and checks the head out if the run continues
/// it.
pub(super) async fn attach(
    access: &RunCodeHost,
    workspace: &dyn Workspace,
    request: NamingRequest<'_>,
    git_ref: Option<&RefName>,
    cancel: &CancellationToken,
) -> Result<Option<NamedTarget>, Refusal> {
    let host = &*access.host;
    let Some(repository) = access.repository_of(workspace) else {
        return Ok(None);
    };
    let Some(number) = number_of(access, &repository, request).await? else {
        return Ok(None);
    };
    access.check_read(&repository)?;
    let facts = match host.pull_request(&repository, number).await {
        Ok(facts) => facts,
        // An issue has a number too.
        Err(error) if error.is_not_found() && !request.must_continue => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let url = facts.url.clone();
    let is_own = access.is_own(&facts).await;
    let branch = branch_of(&facts, is_own, &repository, git_ref);
    let (named, block) = match attach_branch(workspace, &facts, branch, cancel).await {
        Ok((continued, head)) => {
            let block = continued_block(number, &continued.head, &head);
            let is_required = request.must_continue;
            (
                NamedPullRequest {
                    number,
                    url,
                    continued: Some(continued),
                    reason: None,
                    is_required,
                },
                block,
            )
        }
        Err(NotContinued::Refused(refusal)) => return Err(refusal),
        Err(NotContinued::Because(reason)) if request.must_continue => {
            let text = format!("pull request #{number} is not changed, because {reason}");
            return Err(Refusal::WorkspaceNotReady(WorkspaceError::Refused(text)));
        }
        Err(NotContinued::Because(reason)) => {
            let block = format!(
                "The request names pull request #{number}. This run does not continue it, because {reason}. Its \
                 commits become a pull request of their own, which refers to #{number}."
            );
            let reason = Some(reason.to_owned());
            (
                NamedPullRequest {
                    number,
                    url,
                    continued: None,
                    reason,
                    is_required: false,
                },
                block,
            )
        }
    };
    Ok(Some(NamedTarget { named, block }))
}

/// Returns a pull request's branches and head if the service may push to it, or why it may not.
fn branch_of(
    facts: &PullRequestFacts,
    is_own: bool,
    repository: &RepoSlug,
    git_ref: Option<&RefName>,
) -> Result<(ContinuedBranch, Commit), &'static str> {
    let pull_request = &facts.pull_request;
    if pull_request.state != PullRequestState::Open {
        return Err("it is not open");
    }
    if facts.head_repository.as_ref() != Some(repository) {
        return Err("its branch is in another repository");
    }
    let head = RefName::parse(pull_request.head_branch.clone()).ok();
    let head = head.filter(|branch| run_of_branch(branch.as_str()).is_some());
    let Some(head) = head else {
        return Err("the service did not make its branch");
    };
    if !is_own {
        return Err("a person opened it");
    }
    if git_ref.is_some_and(|git_ref| *git_ref != head) {
        return Err("the request names another branch to start from");
    }
    let base = RefName::parse(pull_request.base_branch.clone()).ok();
    match (base, pull_request.head.clone()) {
        (Some(base), Some(commit)) => Ok((ContinuedBranch { head, base }, commit)),
        _ => Err("its branches are not known"),
    }
}

/// Gives the tree the head of a branch that the service may push to.
async fn attach_branch(
    workspace: &dyn Workspace,
    facts: &PullRequestFacts,
    branch: Result<(ContinuedBranch, Commit), &'static str>,
    cancel: &CancellationToken,
) -> Result<(ContinuedBranch, Commit), NotContinued> {
    let (branch, head) = branch.map_err(NotContinued::Because)?;
    attach_head(workspace, facts, &head, cancel).await?;
    Ok((branch, head))
}

/// Gives the tree the head, unless the tree has changes that would be lost.
async fn attach_head(
    workspace: &dyn Workspace,
    facts: &PullRequestFacts,
    head: &Commit,
    cancel: &CancellationToken,
) -> Result<(), NotContinued> {
    let at = commits::head(workspace).await?;
    // Commits from the thread's earlier runs may be on top of the head.
    if at.is_some() && commits::contains(workspace, head).await? {
        return Ok(());
    }
    let has_work = commits::is_dirty(workspace).await?
        || at.is_some() && commits::unpushed(workspace).await? > 0;
    if has_work {
        return Err(NotContinued::Because(
            "the tree of this thread has changes that the code host does not have",
        ));
    }
    let attached = check_out(workspace, facts.pull_request.number, head, cancel).await?;
    if attached == *head {
        return Ok(());
    }
    let text = "the pull request has new commits. Send the request again";
    Err(Refusal::WorkspaceNotReady(WorkspaceError::Refused(text.to_owned())).into())
}

fn continued_block(number: u64, branch: &RefName, head: &Commit) -> String {
    format!(
        "The request names pull request #{number} of this service. The tree is at its head {head}. Commit on top of \
         it, and do not rewrite its commits: after the run the service pushes to its branch `{branch}`, never with \
         force, and replaces its title and description by the ones that you submit. Describe the whole change, the \
         earlier commits included."
    )
}
