//! The end of a coding run on the code host: the push, the draft, and its evidence.
//!
//! The branch is stored before the push, and the host is searched before each pull request is opened, so a crash at any
//! point neither pushes to a second branch nor opens a second draft. Nothing is merged, approved or pushed with force.
//! Not here: the decisions and texts (`ars_codehost`), and the push (the workspace).

use ars_bot_ports::{
    CodeHost, CodeHostError, GitRequest, PUSHED_REFS, PushOutcome, Workspace,
    code_host::{NewPullRequest, PullRequestHit},
};
use ars_codehost::{
    answer::Meaning,
    branch_name,
    diff::Commit,
    pull_request::{
        Action, Description, Evidence, Found, Input, Opened, Outcome, PullRequestFlow, PullRequestText,
        Pushed, check_run, render,
    },
    review::PullRequestState,
    run_of_branch,
    text::neutral_line,
};
use ars_events::EventBody;
use ars_types::{RefName, RepoSlug};
use tokio_util::sync::CancellationToken;

use super::active::ActiveRun;
use crate::{
    context::RunContext,
    run::{Assignment, EvidenceLog},
};

/// Maximum characters of git's or the host's words in an answer.
const MAX_QUOTED_CHARS: usize = 300;
/// The line about a description without commits.
const NO_COMMITS: &str = "No pull request was opened: the run has no commits.";
/// The line about writes that were not allowed or not done in time.
const NOT_WRITTEN: &str =
    "The pull request was not written: the code host or the service's own store did not answer.";

/// The change of a coding run.
struct Change<'a> {
    active: &'a ActiveRun,
    context: &'a RunContext,
    host: &'a dyn CodeHost,
    repository: RepoSlug,
    workspace: &'a dyn Workspace,
    description: Option<Description>,
    evidence: &'a EvidenceLog,
    base: Option<&'a RefName>,
}

/// A pushed change.
struct PushedChange {
    head: Commit,
    branch: RefName,
    base: RefName,
}

impl ActiveRun {
    /// Publishes the commits of a coding run. Returns the line for its answer, if it needs one.
    pub(super) async fn publish_change(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        cost: Option<u64>,
    ) -> Option<String> {
        let (evidence, slot) = (assignment.evidence.as_ref()?, assignment.description.as_ref()?);
        let (access, workspace) = (assignment.code_host.as_ref()?, assignment.workspace.as_deref()?);
        let repository = access.host.host().repository_of(workspace.origin()?)?;
        // Before any call of the host.
        access.gate.read(&repository).ok()?;
        let change = Change {
            active: self,
            context,
            host: &*access.host,
            repository,
            workspace,
            description: slot.current(),
            evidence,
            base: assignment.base.as_ref(),
        };
        match self.bounded(change.publish(cost)).await {
            Some(line) => line,
            None => Some(NOT_WRITTEN.to_owned()),
        }
    }
}

impl Change<'_> {
    async fn publish(&self, cost: Option<u64>) -> Option<String> {
        let head = Commit::parse(&self.workspace.head().await.ok()??)?;
        let begun = self.active.claim.tracked().and_then(|run| run.known(|state| state.branch.clone()));
        let begun = begun.and_then(|branch| RefName::parse(branch).ok());
        let earlier = self.workspace.pushed_branch().await;
        let edits = self.description.is_some() && earlier.is_some();
        if !self.has_commits().await && begun.is_none() && !edits {
            return self.description.is_some().then(|| NO_COMMITS.to_owned());
        }
        let pushed = match self.push(head, begun, earlier).await {
            Ok(pushed) => pushed,
            Err(line) => return Some(line),
        };
        Some(match &self.description {
            Some(description) => self.open(&pushed, description, cost).await,
            None => format!(
                "The commits are on the branch `{}`, without a description of the change. Open a pull request: {}",
                pushed.branch,
                self.compare_url(&pushed)
            ),
        })
    }

    /// Returns whether the tree has commits that no push and no fetch brought to or from the origin.
    async fn has_commits(&self) -> bool {
        let pushed = format!("--glob={PUSHED_REFS}*");
        let arguments = ["rev-list", "--max-count=1", "HEAD", "--not", "--remotes", &pushed];
        let request = GitRequest { arguments: &arguments, output_limit: MAX_QUOTED_CHARS };
        let answer = self.workspace.git(request, &CancellationToken::new()).await;
        answer.is_ok_and(|answer| answer.exit_code == 0 && !answer.output.is_empty())
    }

    /// Pushes the commit to the branch of the run, or to that of the thread's open pull request.
    async fn push(
        &self,
        head: Commit,
        begun: Option<RefName>,
        earlier: Option<RefName>,
    ) -> Result<PushedChange, String> {
        let failed = |error: CodeHostError| format!("The commits were not pushed: {error}.");
        let facts = self.host.repository(&self.repository).await.map_err(failed)?;
        if facts.is_archived {
            return Err(failed(CodeHostError::Answer(Meaning::Archived)));
        }
        let branch = match begun {
            Some(branch) => branch,
            None => self.branch(earlier).await.map_err(failed)?,
        };
        let base = self.base(&facts.default_branch).await.map_err(failed)?;
        let noted = branch.to_string();
        if !self.active.may_write(|state| state.branch = Some(noted)).await {
            return Err(NOT_WRITTEN.to_owned());
        }
        match self.workspace.push(&head, &branch, &self.active.run.stops().hard).await {
            Ok(PushOutcome::Pushed) => Ok(PushedChange { head, branch, base }),
            Ok(PushOutcome::Rejected(words)) => {
                Err(format!("The commits were not pushed to `{branch}`: {}", quoted(&words)))
            }
            Err(error) => {
                Err(format!("The commits were not pushed to `{branch}`: {}", quoted(&error.to_string())))
            }
        }
    }

    /// Returns the branch of the thread's open pull request, or else the run's own.
    async fn branch(&self, earlier: Option<RefName>) -> Result<RefName, CodeHostError> {
        if let Some(earlier) = earlier {
            let found = self.host.pull_request_of_branch(&self.repository, &earlier).await?;
            if found.is_none_or(|found| found.state == PullRequestState::Open) {
                return Ok(earlier);
            }
        }
        let title = self.description.as_ref().map(|description| description.title.as_str());
        // A run id is a valid part of a name.
        branch_name(self.active.run.id(), title.unwrap_or_default()).map_err(|_| CodeHostError::Unreadable)
    }

    /// Returns the branch that the change is for: the one that the request named, or the default one.
    async fn base(&self, default: &str) -> Result<RefName, CodeHostError> {
        if let Some(named) = self.base
            && self.host.branch_head(&self.repository, named).await?.is_some()
        {
            return Ok(named.clone());
        }
        RefName::parse(default.to_owned()).map_err(|_| CodeHostError::Unreadable)
    }

    /// Opens or edits the pull request, and adds the check run. Returns the line for the answer.
    async fn open(&self, pushed: &PushedChange, description: &Description, cost: Option<u64>) -> String {
        let (run, settings) = (self.active.run.id(), self.context.settings());
        let evidence = Evidence {
            head: pushed.head.clone(),
            run_url: settings.public_base_url.is_some().then(|| settings.run_url(run)),
            cost_micro_usd: cost.and_then(|cost| i64::try_from(cost).ok()),
            checks: self.evidence.checks(),
        };
        let text = render(run.as_str(), description, &evidence);
        let (outcome, hit, error) = self.flow(pushed, text).await;
        let url = hit.as_ref().map_or_else(String::new, |hit| hit.url.clone());
        let (line, created) = match outcome {
            // A process of this run that opened it may have crashed before it knew.
            Outcome::Opened(number) => (format!("Draft pull request #{number}: {url}"), true),
            Outcome::Edited(number) if run_of_branch(pushed.branch.as_str()).as_ref() == Some(run) => {
                (format!("Draft pull request #{number}: {url}"), true)
            }
            Outcome::Edited(number) => (format!("Pull request #{number} was updated: {url}"), false),
            Outcome::Closed(number) => {
                return format!(
                    "A person closed pull request #{number} of this branch, so it stays closed: {url}"
                );
            }
            Outcome::Compare | Outcome::NothingPushed | Outcome::Failed => {
                let error = error.unwrap_or(CodeHostError::Unreachable);
                return format!(
                    "The commits are on the branch `{}`, but the pull request was not written: {error}. Open it: {}",
                    pushed.branch,
                    self.compare_url(pushed)
                );
            }
        };
        if let Some(PullRequestHit { number, url, .. }) = hit {
            self.publish_once(EventBody::PrOpened { url, number, created });
        }
        match self.put_check(&evidence).await {
            Some(problem) => format!("{line}\n\nIts check run was not written: {problem}."),
            None => line,
        }
    }

    /// Performs the actions of the flow. Returns its outcome, the pull request, and the last error.
    async fn flow(
        &self,
        pushed: &PushedChange,
        text: PullRequestText,
    ) -> (Outcome, Option<PullRequestHit>, Option<CodeHostError>) {
        let PushedChange { branch, base, .. } = pushed;
        let (mut flow, mut hit, mut error) = (PullRequestFlow::default(), None, None);
        let mut action = flow.step(Input::Ended(Pushed::WithDescription));
        loop {
            let written = match action {
                None => return (Outcome::Failed, hit, error),
                Some(Action::End(outcome)) => return (outcome, hit, error),
                Some(Action::Search) => {
                    let found = self.host.pull_request_of_branch(&self.repository, branch).await;
                    let found = match found {
                        Ok(found) => {
                            hit.clone_from(&found);
                            Some(found.map_or(Found::Absent, |found| match found.state {
                                PullRequestState::Open => Found::Open(found.number),
                                PullRequestState::Closed | PullRequestState::Merged => {
                                    Found::Closed(found.number)
                                }
                            }))
                        }
                        Err(failure) => {
                            error = Some(failure);
                            None
                        }
                    };
                    action = flow.step(Input::Found(found));
                    continue;
                }
                Some(Action::OpenDraft | Action::Edit(_)) if !self.active.may_write(|_| {}).await => {
                    return (Outcome::Failed, hit, error);
                }
                Some(Action::OpenDraft) => {
                    let request =
                        NewPullRequest { text: text.clone(), head: branch.clone(), base: base.clone() };
                    self.host.open_draft(&self.repository, &request).await
                }
                Some(Action::Edit(number)) => {
                    self.host.edit_pull_request(&self.repository, number, &text).await
                }
            };
            let written = match written {
                Ok(done) => {
                    let number = done.number;
                    hit = Some(done);
                    Opened::Confirmed(number)
                }
                Err(failure) => {
                    let is_open = failure.is_effect_unknown()
                        || failure.is_passing()
                        || failure.meaning() == Some(&Meaning::AlreadyExists);
                    error = Some(failure);
                    if is_open { Opened::Unknown } else { Opened::Rejected }
                }
            };
            action = flow.step(Input::Written(written));
        }
    }

    /// Writes the check run. Returns the problem, if there is one.
    async fn put_check(&self, evidence: &Evidence) -> Option<String> {
        if !self.active.may_write(|_| {}).await {
            return Some("the service's own store did not answer".to_owned());
        }
        let check = check_run(self.active.run.id().as_str(), evidence);
        self.host.put_check_run(&self.repository, &check).await.err().map(|error| error.to_string())
    }

    /// Publishes the event of the pull request, unless another process did.
    fn publish_once(&self, event: EventBody) {
        let view = self.active.run.view();
        let is_there = view.events.iter().any(|event| event.contains(r#""type":"pr_opened""#));
        if !is_there {
            self.active.run.publish(event);
        }
    }

    fn compare_url(&self, pushed: &PushedChange) -> String {
        self.host.host().compare_url(&self.repository, &pushed.base, &pushed.branch)
    }
}

fn quoted(words: &str) -> String {
    neutral_line(words, MAX_QUOTED_CHARS)
}
