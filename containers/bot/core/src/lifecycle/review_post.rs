//! The end of a review run on the code host: one review of the head that was read.
//!
//! The head is compared behind the model's last answer. If other changes came, the same run reviews them once. Not here:
//! the decisions (`ars_codehost::review::ReviewPost`).

use std::sync::{Mutex, PoisonError};

use ars_agent::RunOutcome;
use ars_bot_ports::{CodeHost, CodeHostError};
use ars_bot_tools::review::{Remarks, VerdictSlot, observed_head};
use ars_codehost::{
    answer::Meaning,
    diff::Commit,
    review::{Action, Input, Outcome, ReviewPost, Submission, Submitted, Unposted, is_posted, place},
};
use ars_events::{EventBody, NoteKind};
use ars_runs::PostedReviewFact;
use ars_types::RunStatus;
use async_trait::async_trait;

use super::{active::ActiveRun, review_target::check_out};
use crate::{
    context::RunContext,
    run::{Assignment, Recheck, ReviewTarget, RunCodeHost},
};

/// The post of one review run.
pub(super) struct ReviewStage<'a> {
    active: &'a ActiveRun,
    context: &'a RunContext,
    assignment: &'a Assignment,
    access: &'a RunCodeHost,
    slot: &'a VerdictSlot,
    state: Mutex<State>,
}

struct State {
    target: ReviewTarget,
    post: ReviewPost,
    /// The action that waits, if the review ended with an answer.
    next: Option<Action>,
}

impl<'a> ReviewStage<'a> {
    /// The stage of a review that is posted.
    pub(super) fn of(
        active: &'a ActiveRun,
        context: &'a RunContext,
        assignment: &'a Assignment,
    ) -> Option<Self> {
        let target = assignment.review.clone().filter(|target| target.posts)?;
        let (access, slot) = (assignment.code_host.as_ref()?, assignment.verdict.as_ref()?);
        let head = target.head()?;
        let post = if target.is_second { ReviewPost::again(head) } else { ReviewPost::new(head) };
        let state = Mutex::new(State { target, post, next: None });
        Some(Self { active, context, assignment, access, slot, state })
    }

    /// Posts the review with this text. Returns the line for the answer.
    pub(super) async fn finish(&self, answer: &str) -> Option<String> {
        let remarks = self.slot.remarks();
        match self.active.bounded(self.post(answer, &remarks)).await {
            Some(line) => line,
            None => Some(match self.target() {
                ReviewTarget { posted: Some(_), .. } => "The review is on the pull request.".to_owned(),
                _ => not_posted(Unposted::HostUnavailable),
            }),
        }
    }

    fn posted(&self, head: &Commit) -> String {
        let target = self.target();
        let url = self.access.host.host().pull_request_url(&target.repository, target.number);
        format!("The review of {} is on the pull request: {url}", head.short())
    }

    async fn post(&self, answer: &str, remarks: &Remarks) -> Option<String> {
        let host = &*self.access.host;
        let target = self.target();
        // Without one, the head could not be compared in time.
        let next = self.lock().next.take();
        let Some(mut action) = next else { return Some(not_posted(Unposted::HostUnavailable)) };
        loop {
            let input = match action {
                Action::End(Outcome::Posted { head }) => {
                    // Before the threads, which may take too long.
                    self.note_posted(0);
                    let resolved = self.resolve(&remarks.fixed).await;
                    self.note_posted(resolved);
                    return Some(self.posted(&head));
                }
                Action::End(Outcome::NotPosted(why)) => return Some(not_posted(why)),
                // The text for it was not stored, or the new head was not checked out.
                Action::ReviewAgain { .. } => return Some(not_posted(Unposted::Stale)),
                Action::FetchHead | Action::CompareChanges { .. } => self.compare(action).await,
                Action::ListReviews { head } => {
                    let listed = host.reviews(&target.repository, target.number).await;
                    Input::Listed(listed.ok().map(|reviews| is_posted(&reviews, &head)))
                }
                Action::Submit { head, read_at, is_folded } => {
                    let diff = match is_folded {
                        true => None,
                        false => host.changed_files(&target.repository, target.number).await.ok(),
                    };
                    let diff = diff.map(|files| files.diff());
                    let placed = place(&remarks.findings, diff.as_ref());
                    let submission = Submission::new(&head, read_at.as_ref(), answer, placed);
                    if !self.may_write(|target| target.is_submitted = true).await {
                        return Some(not_posted(Unposted::HostUnavailable));
                    }
                    let posted = host.submit_review(&target.repository, target.number, &submission).await;
                    Input::Submitted(posted.map_or_else(|error| end_of(&error), |_| Submitted::Confirmed))
                }
            };
            action = self.lock().post.step(input)?;
        }
    }

    /// Reads the head, or compares the changes of two heads.
    async fn compare(&self, action: Action) -> Input {
        let host = &*self.access.host;
        let target = self.target();
        if let Action::CompareChanges { read, head } = action {
            return Input::SameChanges(has_same_changes(host, &target, &read, &head).await);
        }
        let facts = host.pull_request(&target.repository, target.number).await;
        Input::Head(facts.ok().and_then(|facts| facts.pull_request.head))
    }

    /// Resolves the service's own threads that the review verified as fixed.
    /// Returns how many the run resolved.
    async fn resolve(&self, fixed: &[String]) -> u64 {
        let target = self.target();
        if fixed.is_empty() && target.resolving.is_empty() {
            return 0;
        }
        let host = &*self.access.host;
        let Ok(threads) = host.review_threads(&target.repository, target.number).await else { return 0 };
        let own = threads.entries.iter().filter(|thread| thread.is_own);
        let (done, open): (Vec<_>, Vec<_>) = own.partition(|thread| thread.is_resolved);
        // Stored before, because a process that crashes behind some of them has resolved those.
        let mut resolved = done.iter().filter(|thread| target.resolving.contains(&thread.id)).count() as u64;
        for thread in open.iter().filter(|thread| fixed.contains(&thread.id)) {
            if !self.may_write(|target| target.resolving.push(thread.id.clone())).await {
                break;
            }
            match host.resolve_thread(&target.repository, &thread.id).await {
                Ok(()) => resolved += 1,
                Err(error) => {
                    tracing::warn!(run = %self.active.run.id(), %error, "a thread was not resolved");
                }
            }
        }
        resolved
    }

    /// Keeps the posted review for the run's record, unless an earlier run posted it.
    fn note_posted(&self, resolved: u64) {
        let target = self.target();
        if !target.is_submitted {
            return;
        }
        let fact = PostedReviewFact {
            repo: target.repository.to_string(),
            number: target.number,
            at: self.context.clock().now(),
            resolved,
        };
        self.active.run.set_posted_review(fact.clone());
        let stored = self.changed(|target| target.posted = Some(fact));
        // Stored with the run's end.
        if let Some(tracked) = self.active.claim.tracked() {
            tracked.change(|state| state.review = stored);
        }
    }

    /// Changes and stores the target. Returns whether this process may write to the code host.
    async fn may_write(&self, change: impl FnOnce(&mut ReviewTarget)) -> bool {
        let stored = self.changed(change);
        self.active.may_write(|state| state.review = stored).await
    }

    /// Changes the target, and returns it as the run's state keeps it.
    fn changed(&self, change: impl FnOnce(&mut ReviewTarget)) -> Option<serde_json::Value> {
        let mut state = self.lock();
        change(&mut state.target);
        serde_json::to_value(&state.target).ok()
    }

    fn target(&self) -> ReviewTarget {
        self.lock().target.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn end_of_review(&self) -> Option<String> {
        let observed = observed_head(self.assignment.workspace.as_deref()).await;
        let observed = observed.as_deref().and_then(Commit::parse);
        let reported = self.slot.current().and_then(|verdict| verdict.head);
        let mut action = self.lock().post.step(Input::Ended { observed, reported })?;
        loop {
            match action {
                Action::FetchHead | Action::CompareChanges { .. } => {
                    let input = self.compare(action).await;
                    action = self.lock().post.step(input)?;
                }
                Action::ReviewAgain { head } => {
                    let summary = format!("the pull request moved to {head}; it is reviewed again");
                    self.active.run.publish(EventBody::note(NoteKind::HeadMoved, summary));
                    let text = format!(
                        "Note from the service: the pull request has new commits. Its head is {head} now, and the \
                         tree is there. Review the whole change again at this commit and submit a new verdict."
                    );
                    self.lock().next = Some(Action::ReviewAgain { head });
                    return Some(text);
                }
                other => {
                    self.lock().next = Some(other);
                    return None;
                }
            }
        }
    }
}

#[async_trait]
impl Recheck for ReviewStage<'_> {
    async fn recheck(&self, outcome: &RunOutcome) -> Option<String> {
        if outcome.answer.is_none() || outcome.status != RunStatus::Completed {
            return None;
        }
        self.active.bounded(self.end_of_review()).await.flatten()
    }

    async fn proceed(&self) -> bool {
        let next = match &self.lock().next {
            Some(Action::ReviewAgain { head }) => head.clone(),
            _ => return false,
        };
        let target = self.target().again(&next);
        let stored = serde_json::to_value(&target).ok();
        let Some(workspace) = self.assignment.workspace.as_deref() else { return false };
        if !self.active.may_write(|state| state.review = stored).await {
            return false;
        }
        let stop = self.active.run.stops().hard;
        let attached = check_out(workspace, target.number, &next, &stop).await;
        if attached.ok().as_ref() != Some(&next) {
            return false;
        }
        self.slot.clear();
        let mut state = self.lock();
        state.target = target;
        state.next = None;
        true
    }
}

/// Returns whether both heads have the same changes against the base; `None` if that is unknown.
async fn has_same_changes(
    host: &dyn CodeHost,
    target: &ReviewTarget,
    read: &Commit,
    head: &Commit,
) -> Option<bool> {
    let changes = async |head: &Commit| {
        let compared = host.compare(&target.repository, &target.base, head.as_str()).await.ok()?;
        let is_whole =
            !compared.files.truncated && compared.files.files.iter().all(|file| file.patch.is_some());
        is_whole.then_some(compared.files.files)
    };
    Some(changes(read).await? == changes(head).await?)
}

fn end_of(error: &CodeHostError) -> Submitted {
    match error.meaning() {
        Some(Meaning::AnchorRejected) => Submitted::AnchorRejected,
        _ if error.is_effect_unknown() || error.is_passing() => Submitted::Unknown,
        _ => Submitted::Rejected,
    }
}

fn not_posted(why: Unposted) -> String {
    let reason = match why {
        Unposted::UnknownHead => "it is not known which commit was read",
        Unposted::OtherHead => "another commit than the head of the pull request was read",
        Unposted::Stale => "the pull request got new commits again. Send the request again",
        Unposted::HostUnavailable => "the code host did not answer, or the head was deleted",
        Unposted::Rejected => "the code host rejected it",
    };
    format!("The review was not posted: {reason}.")
}
