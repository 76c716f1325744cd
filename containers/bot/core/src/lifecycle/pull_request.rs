//! The end of a coding run on the code host: the push, the draft, and its evidence.
//!
//! The branch is stored before the push, and the host is searched before each pull request is opened, so a crash at any
//! point neither pushes to a second branch nor opens a second draft. Nothing is merged, approved or pushed with force.
//! Not here: the decisions and texts (`ars_codehost`), and the push (the workspace).

mod push;

use std::time::Duration;

use ars_bot_ports::{
    Checkpoint, CodeHost, CodeHostError, Workspace,
    code_host::{NewPullRequest, PullRequestHit},
};
use ars_codehost::{
    answer::Meaning,
    diff::Commit,
    pull_request::{
        Action, Description, Evidence, Found, Input, KnownCommands, Opened, Outcome,
        PullRequestFlow, Pushed, check_run, is_marked_draft, render,
    },
    review::PullRequestState,
    run_of_branch,
    text::neutral_line,
};
use ars_events::EventBody;
use ars_types::{RefName, RepoSlug};

use super::{
    active::ActiveRun,
    commits::{self, GitFailed},
};
use crate::{
    context::RunContext,
    history::own_pulls,
    run::{EvidenceLog, NamedPullRequest, PreparedRun, RunCodeHost, Work},
};

/// Maximum characters of git's or the host's words in an answer.
const MAX_QUOTED_CHARS: usize = 300;
/// The line about a description without commits.
const NO_COMMITS: &str = "No pull request was opened: the run has no commits.";
/// The line about writes that were not allowed or not done in time.
const NOT_WRITTEN: &str =
    "The pull request was not written: the code host or the service's own store did not answer.";

/// The line about writes that a stop ended.
const STOPPED: &str = "The pull request was not written, because the run was stopped.";
/// Timeout of the count of commits that stay in a tree.
const UNPUSHED_COUNT_TIMEOUT: Duration = Duration::from_secs(20);
/// Parts of git's words about a branch that has commits which the pushed one lacks.
const NOT_FAST_FORWARD: [&str; 3] = ["fetch first", "fast-forward", "cannot lock ref"];

/// The change of a coding run.
struct Change<'a> {
    active: &'a ActiveRun,
    context: &'a RunContext,
    host: &'a dyn CodeHost,
    access: &'a RunCodeHost,
    repository: RepoSlug,
    workspace: &'a dyn Workspace,
    description: Option<Description>,
    evidence: &'a EvidenceLog,
    commands: &'a KnownCommands,
    base: Option<&'a RefName>,
    named: Option<&'a NamedPullRequest>,
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
        prepared: &PreparedRun,
        cost: Option<u64>,
    ) -> Option<String> {
        let Work::Change {
            description,
            evidence,
            commands,
            base,
            named,
        } = &prepared.work
        else {
            return None;
        };
        let access = prepared.spec.code_host.as_ref()?;
        let workspace = prepared.workspace.as_deref()?;
        let repository = access.repository_of(workspace)?;
        access.check_read(&repository).ok()?;
        let change = Change {
            active: self,
            context,
            host: &*access.host,
            access,
            repository,
            workspace,
            description: description.current(),
            evidence,
            commands,
            base: base.as_ref(),
            named: named.as_ref(),
        };
        match self.bounded(change.publish(cost)).await {
            Some(line) => line,
            None if self.run.stops().hard.is_cancelled() => Some(STOPPED.to_owned()),
            None => Some(NOT_WRITTEN.to_owned()),
        }
    }
}

impl ActiveRun {
    /// Returns the text about commits that stay in the tree, or `None` without any.
    pub(super) async fn unpushed_text(
        &self,
        workspace: &dyn Workspace,
        saved: Option<&Checkpoint>,
    ) -> Option<String> {
        let counted = async {
            let Some(head) = commits::head(workspace).await? else {
                return Ok(None);
            };
            Ok::<_, GitFailed>(Some((head, commits::unpushed(workspace).await?)))
        };
        let (head, count) = match tokio::time::timeout(UNPUSHED_COUNT_TIMEOUT, counted).await {
            Ok(Ok(Some((head, count)))) if count > 0 => (head, count),
            Ok(Ok(_)) => return None,
            Ok(Err(error)) => {
                return Some(format!(
                    "Whether the run has commits is not known: {error}."
                ));
            }
            Err(_) => {
                return Some(
                    "Whether the run has commits is not known: git took too long.".to_owned(),
                );
            }
        };
        let noun = if count == 1 {
            "commit of this run was"
        } else {
            "commits of this run were"
        };
        let begun = self
            .claim
            .tracked()
            .and_then(|run| run.known(|state| state.branch.clone()));
        let begun = begun.map(|branch| format!(", although a push to `{branch}` may have begun"));
        let saved = saved.map(|saved| format!(", saved as `{}`", saved.git_ref));
        Some(format!(
            "{count} {noun} not pushed{}: the tree of this thread is at {}{}. A further request \
             in this thread continues there.",
            begun.unwrap_or_default(),
            head.short(),
            saved.unwrap_or_default()
        ))
    }
}

impl Change<'_> {
    async fn publish(&self, cost: Option<u64>) -> Option<String> {
        let (head, count) = match self.commits().await {
            Ok(Some(commits)) => commits,
            Ok(None) => return self.description.is_some().then(|| NO_COMMITS.to_owned()),
            Err(error) => return Some(format!("No commits were pushed: {error}.")),
        };
        let begun = self
            .active
            .claim
            .tracked()
            .and_then(|run| run.known(|state| state.branch.clone()));
        let begun = begun.and_then(|branch| RefName::parse(branch).ok());
        let earlier = self.workspace.pushed_branch().await;
        let has_branch = earlier.is_some() || self.continued().is_some();
        let edits = self.description.is_some() && has_branch;
        if count == 0 && begun.is_none() && !edits {
            return self.description.is_some().then(|| NO_COMMITS.to_owned());
        }
        let pushed = match self.push(head, begun, earlier).await {
            Ok(pushed) => pushed,
            Err(line) => return Some(line),
        };
        let line = match &self.description {
            Some(description) => self.open(&pushed, description, cost).await,
            None => format!(
                "The commits are on the branch `{}`, without a description of the change. Open a pull request: {}",
                pushed.branch,
                self.compare_url(&pushed)
            ),
        };
        let named = self.referred(&pushed);
        Some(
            match named.and_then(|named| Some((named.number, named.reason.as_ref()?))) {
                Some((number, reason)) => {
                    format!("{line}\n\nPull request #{number} was not continued, because {reason}.")
                }
                None => line,
            },
        )
    }

    /// Opens or edits the pull request, and adds the check run. Returns the line for the answer.
    async fn open(
        &self,
        pushed: &PushedChange,
        description: &Description,
        cost: Option<u64>,
    ) -> String {
        let (run, settings) = (self.active.run.id(), self.context.settings());
        let evidence = Evidence {
            head: pushed.head.clone(),
            run_url: settings
                .public_base_url
                .is_some()
                .then(|| settings.run_url(run)),
            cost_micro_usd: cost.and_then(|cost| i64::try_from(cost).ok()),
            refers_to: self.referred(pushed).map(|named| named.url.clone()),
            is_marked_draft: false,
            checks: self.evidence.checks(),
            expected: self.commands.expected().to_vec(),
        };
        let (outcome, hit, error) = self.flow(pushed, description, &evidence).await;
        let url = hit.as_ref().map_or_else(String::new, |hit| hit.url.clone());
        let is_marked = hit.as_ref().is_some_and(|hit| is_marked_draft(&hit.title));
        let opened = |number: u64| match is_marked {
            true => format!(
                "Pull request #{number}, an ordinary one with a title that marks it as a draft, because the repository \
                 has no drafts: {url}"
            ),
            false => format!("Draft pull request #{number}: {url}"),
        };
        let (line, created) = match outcome {
            // A process of this run that opened it may have crashed before it knew.
            Outcome::Opened(number) => (opened(number), Some(true)),
            Outcome::Edited(number)
                if run_of_branch(pushed.branch.as_str()).as_ref() == Some(run) =>
            {
                (opened(number), Some(true))
            }
            Outcome::Edited(number) => (
                format!("Pull request #{number} was updated: {url}"),
                Some(false),
            ),
            Outcome::Theirs(number) => {
                let line = format!(
                    "The commits are on the branch of pull request #{number}. A person opened it, so its title and \
                     description stay: {url}"
                );
                (line, None)
            }
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
        if let (Some(created), Some(PullRequestHit { number, url, .. })) = (created, hit) {
            self.publish_once(EventBody::PrOpened {
                url,
                number,
                created,
            });
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
        description: &Description,
        evidence: &Evidence,
    ) -> (Outcome, Option<PullRequestHit>, Option<CodeHostError>) {
        let PushedChange { branch, base, .. } = pushed;
        let text = |is_marked_draft: bool| {
            let evidence = Evidence {
                is_marked_draft,
                ..evidence.clone()
            };
            render(self.active.run.id().as_str(), description, &evidence)
        };
        let (mut flow, mut hit, mut error) = (PullRequestFlow::default(), None, None);
        let mut action = flow.step(Input::Ended(Pushed::WithDescription));
        loop {
            let written = match action {
                None => return (Outcome::Failed, hit, error),
                Some(Action::End(outcome)) => return (outcome, hit, error),
                Some(Action::Search) => {
                    let found = match self.search(branch).await {
                        Ok((found, is_own)) => {
                            hit.clone_from(&found);
                            Some(found_of(found.as_ref(), is_own))
                        }
                        Err(failure) => {
                            error = Some(failure);
                            None
                        }
                    };
                    action = flow.step(Input::Found(found));
                    continue;
                }
                Some(Action::OpenDraft | Action::OpenOrdinary | Action::Edit(_))
                    if !self.active.may_write(|_| {}).await =>
                {
                    return (Outcome::Failed, hit, error);
                }
                Some(opening @ (Action::OpenDraft | Action::OpenOrdinary)) => {
                    let is_draft = opening == Action::OpenDraft;
                    let request = NewPullRequest {
                        text: text(!is_draft),
                        head: branch.clone(),
                        base: base.clone(),
                        is_draft,
                    };
                    self.host
                        .open_pull_request(&self.repository, &request)
                        .await
                }
                Some(Action::Edit(number)) => {
                    // A person who removes the mark ends the draft.
                    let is_marked = hit.as_ref().is_some_and(|hit| is_marked_draft(&hit.title));
                    self.host
                        .edit_pull_request(&self.repository, number, &text(is_marked))
                        .await
                }
            };
            let written = match written {
                Ok(done) => {
                    let number = done.number;
                    hit = Some(done);
                    Opened::Confirmed(number)
                }
                Err(failure) => {
                    let end = end_of(&failure);
                    error = Some(failure);
                    end
                }
            };
            action = flow.step(Input::Written(written));
        }
    }

    /// Returns the branch's pull request, and whether the service opened it.
    async fn search(
        &self,
        branch: &RefName,
    ) -> Result<(Option<PullRequestHit>, bool), CodeHostError> {
        let found = self
            .host
            .pull_request_of_branch(&self.repository, branch)
            .await?;
        let is_own = match &found {
            Some(found) => self.is_own(found, branch).await,
            None => false,
        };
        Ok((found, is_own))
    }

    /// Writes the check run. Returns the problem, if there is one.
    async fn put_check(&self, evidence: &Evidence) -> Option<String> {
        if !self.active.may_write(|_| {}).await {
            return Some("the service's own store did not answer".to_owned());
        }
        let check = check_run(self.active.run.id().as_str(), evidence);
        self.host
            .put_check_run(&self.repository, &check)
            .await
            .err()
            .map(|error| error.to_string())
    }

    /// Returns whether the pull request of a branch is the service's own.
    async fn is_own(&self, found: &PullRequestHit, branch: &RefName) -> bool {
        let place = (&self.repository, found.number);
        let own = own_pulls::is_own(
            &**self.context.store(),
            place,
            branch.as_str(),
            found.is_own,
        )
        .await;
        own.unwrap_or(false)
    }

    /// Publishes the event of the pull request, unless another process did.
    fn publish_once(&self, event: EventBody) {
        let view = self.active.run.view();
        let is_there = view
            .events
            .iter()
            .any(|event| event.contains(r#""type":"pr_opened""#));
        if !is_there {
            self.active.run.publish(event);
        }
    }

    fn compare_url(&self, pushed: &PushedChange) -> String {
        self.host
            .host()
            .compare_url(&self.repository, &pushed.base, &pushed.branch)
    }
}

fn found_of(hit: Option<&PullRequestHit>, is_own: bool) -> Found {
    hit.map_or(Found::Absent, |hit| match hit.state {
        PullRequestState::Open if is_own => Found::Open(hit.number),
        PullRequestState::Open => Found::Theirs(hit.number),
        PullRequestState::Closed | PullRequestState::Merged => Found::Closed(hit.number),
    })
}

fn end_of(failure: &CodeHostError) -> Opened {
    match failure.meaning() {
        Some(Meaning::NoDrafts) => Opened::NoDrafts,
        Some(Meaning::AlreadyExists) => Opened::Unknown,
        _ if failure.is_effect_unknown() || failure.is_passing() => Opened::Unknown,
        _ => Opened::Rejected,
    }
}

fn quoted(words: &str) -> String {
    neutral_line(words, MAX_QUOTED_CHARS)
}
