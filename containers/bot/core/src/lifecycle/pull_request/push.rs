//! Pushes the commits of a coding run: to the branch of its pull request, or to a new one.

use ars_bot_ports::{CodeHostError, PushOutcome, code_host::PullRequestHit};
use ars_codehost::{answer::Meaning, branch_name, diff::Commit, review::PullRequestState};
use ars_types::RefName;

use super::{Change, NOT_FAST_FORWARD, NOT_WRITTEN, PushedChange, quoted};
use crate::lifecycle::commits::{self, GitFailed};
use crate::run::NamedPullRequest;

impl Change<'_> {
    /// Returns the commit of the tree, and the number of its commits to publish.
    /// `None` before a first commit.
    pub(super) async fn commits(&self) -> Result<Option<(Commit, u64)>, GitFailed> {
        let Some(head) = commits::head(self.workspace).await? else {
            return Ok(None);
        };
        let unpushed = commits::unpushed(self.workspace).await?;
        let base = self.workspace.base().as_deref().and_then(Commit::parse);
        // The described commits may be on a branch that a command of the agent pushed to.
        let Some(base) = base.filter(|_| unpushed == 0 && self.description.is_some()) else {
            return Ok(Some((head, unpushed)));
        };
        Ok(Some((head, commits::since(self.workspace, &base).await?)))
    }

    /// Returns the branch of the named pull request, if the run continues it.
    pub(super) fn continued(&self) -> Option<&RefName> {
        self.named.and_then(NamedPullRequest::head)
    }

    /// Returns the named pull request, if the change is not on its branch.
    pub(super) fn referred(&self, pushed: &PushedChange) -> Option<&NamedPullRequest> {
        self.named
            .filter(|named| named.head() != Some(&pushed.branch))
    }

    /// Pushes the commit to the branch of the run, or to that of the thread's open pull request.
    pub(super) async fn push(
        &self,
        head: Commit,
        begun: Option<RefName>,
        earlier: Option<RefName>,
    ) -> Result<PushedChange, String> {
        let failed = |error: CodeHostError| format!("The commits were not pushed: {error}.");
        let facts = self
            .host
            .repository(&self.repository)
            .await
            .map_err(failed)?;
        if facts.is_archived {
            return Err(failed(CodeHostError::Answer(Meaning::Archived)));
        }
        if let Some(reason) = self
            .access
            .withheld_from(&self.repository)
            .await
            .map_err(failed)?
        {
            return Err(format!(
                "The commits were not pushed: {reason}. They are in the tree of this thread."
            ));
        }
        let branch = match begun {
            Some(branch) => branch,
            None => self.branch(earlier).await.map_err(failed)?,
        };
        if let Some(named) = self
            .named
            .filter(|named| named.is_required && named.head() != Some(&branch))
        {
            return Err(format!(
                "The commits were not pushed: pull request #{} is not open any more. They are in the tree of this \
                 thread.",
                named.number
            ));
        }
        let base = self
            .base(&facts.default_branch, &branch)
            .await
            .map_err(failed)?;
        let noted = branch.to_string();
        if !self
            .active
            .may_write(|state| state.branch = Some(noted))
            .await
        {
            return Err(NOT_WRITTEN.to_owned());
        }
        match self
            .workspace
            .push(&head, &branch, &self.active.run.stops().hard)
            .await
        {
            Ok(PushOutcome::Pushed) => Ok(PushedChange { head, branch, base }),
            Ok(PushOutcome::Rejected(words))
                if NOT_FAST_FORWARD.iter().any(|part| words.contains(part)) =>
            {
                Err(format!(
                    "The commits were not pushed to `{branch}`: somebody else pushed to it, and nothing is \
                     overwritten. They are in the tree of this thread. A further request in this thread that names \
                     the pull request gives them a branch and a pull request of their own. Git answered: {}",
                    quoted(&words)
                ))
            }
            Ok(PushOutcome::Rejected(words)) => Err(format!(
                "The commits were not pushed to `{branch}`: {}",
                quoted(&words)
            )),
            Err(error) => Err(format!(
                "The commits were not pushed to `{branch}`: {}",
                quoted(&error.to_string())
            )),
        }
    }

    /// Returns the branch of the continued or the thread's open pull request, or else the run's own.
    async fn branch(&self, earlier: Option<RefName>) -> Result<RefName, CodeHostError> {
        if let Some(continued) = self.continued() {
            let found = self
                .host
                .pull_request_of_branch(&self.repository, continued)
                .await?;
            if let Some(found) = found.filter(|found| found.state == PullRequestState::Open)
                && self.is_own(&found, continued).await
            {
                return Ok(continued.clone());
            }
        }
        if let Some(earlier) = earlier {
            let found = self
                .host
                .pull_request_of_branch(&self.repository, &earlier)
                .await?;
            let is_usable = |found: PullRequestHit| {
                let is_declined = self
                    .named
                    .is_some_and(|named| named.number == found.number && named.continued.is_none());
                found.state == PullRequestState::Open && !is_declined
            };
            if found.is_none_or(is_usable) {
                return Ok(earlier);
            }
        }
        let title = self
            .description
            .as_ref()
            .map(|description| description.title.as_str());
        // A run id is a valid part of a name.
        branch_name(self.active.run.id(), title.unwrap_or_default())
            .map_err(|_| CodeHostError::Unreadable)
    }

    /// Returns the branch that the change is for.
    /// That of the continued pull request precedes the one that the request named, and the default one is last.
    async fn base(&self, default: &str, branch: &RefName) -> Result<RefName, CodeHostError> {
        let continued = self.named.and_then(|named| named.continued.as_ref());
        if let Some(continued) = continued.filter(|continued| continued.head == *branch) {
            return Ok(continued.base.clone());
        }
        if let Some(named) = self.base
            && self
                .host
                .branch_head(&self.repository, named)
                .await?
                .is_some()
        {
            return Ok(named.clone());
        }
        RefName::parse(default.to_owned()).map_err(|_| CodeHostError::Unreadable)
    }
}
