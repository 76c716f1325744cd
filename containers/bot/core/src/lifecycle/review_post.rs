//! The end of a review run on the code host: one review of the head that was read.
//!
//! The head is compared behind the model's last answer. If other changes came, the same run reviews them once. Not here:
//! the decisions (`ars_codehost::review::ReviewPost`).

mod recheck;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ars_bot_ports::CodeHostError;
use ars_bot_tools::review::{Remarks, VerdictSlot, observed_head};
use ars_codehost::{
    answer::Meaning,
    diff::Commit,
    review::{
        Action, ClaimEnd, Claimed, Input, Outcome, ReviewPost, Submission, Submitted, Unposted,
        claim_key, is_posted, place,
    },
};
use ars_events::{EventBody, NoteKind};
use ars_runs::PostedReviewFact;
use ars_types::RunId;

use super::active::ActiveRun;
use crate::{
    context::RunContext,
    live::LedgerClaim,
    run::{PreparedRun, ReviewTarget, RunCodeHost, Work},
};
use recheck::{has_same_changes, is_ended};

/// Timeout of the end of a claim.
const CLAIM_END_TIMEOUT: Duration = Duration::from_secs(10);
/// Waits before the readings of the list that must show no review before it is submitted again.
const LISTING_WAITS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// The post of one review run.
pub(super) struct ReviewStage<'a> {
    active: &'a ActiveRun,
    context: &'a RunContext,
    prepared: &'a PreparedRun,
    access: &'a RunCodeHost,
    slot: &'a VerdictSlot,
    state: Mutex<State>,
}

struct State {
    target: ReviewTarget,
    post: ReviewPost,
    /// The action that waits, if the review ended with an answer.
    next: Option<Action>,
    /// The other run that claimed the review of the head.
    claimed_by: Option<RunId>,
    /// Key of the claim of this run.
    claimed: Option<String>,
    /// The host may have stored a review, or will list it in a moment.
    may_be_posted: bool,
}

impl<'a> ReviewStage<'a> {
    /// The stage of a review that is posted.
    pub(super) fn for_run(
        active: &'a ActiveRun,
        context: &'a RunContext,
        prepared: &'a PreparedRun,
    ) -> Option<Self> {
        let Work::Review {
            verdict: slot,
            target: Some(target),
        } = &prepared.work
        else {
            return None;
        };
        let target = Some(target.clone()).filter(|target| target.posts)?;
        let access = prepared.spec.code_host.as_ref()?;
        let head = target.head()?;
        let post = if target.is_second {
            ReviewPost::again(head)
        } else {
            ReviewPost::new(head)
        };
        // An earlier process of this run may have submitted it.
        let may_be_posted = target.is_submitted;
        let state = State {
            target,
            post,
            next: None,
            claimed_by: None,
            claimed: None,
            may_be_posted,
        };
        let state = Mutex::new(state);
        Some(Self {
            active,
            context,
            prepared,
            access,
            slot,
            state,
        })
    }

    /// Returns the target if its head moved during the review.
    pub(super) fn moved_target(&self) -> Option<ReviewTarget> {
        let was_second = self
            .prepared
            .work
            .review_target()
            .is_some_and(|target| target.is_second);
        Some(self.target()).filter(|target| target.is_second && !was_second)
    }

    /// Posts the review with this text. Returns the line for the answer.
    pub(super) async fn finish(&self, answer: &str) -> Option<String> {
        let remarks = self.slot.remarks();
        let line = match self.active.bounded(self.post(answer, &remarks)).await {
            Some(line) => line,
            None => Some(match self.target() {
                ReviewTarget {
                    posted: Some(_), ..
                } => "The review is on the pull request.".to_owned(),
                _ => not_posted(Unposted::HostUnavailable),
            }),
        };
        if tokio::time::timeout(CLAIM_END_TIMEOUT, self.end_claim())
            .await
            .is_err()
        {
            tracing::warn!(run = %self.active.run.id(), "the claim of a review was not ended: it expires");
        }
        line
    }

    /// Releases the claim of a run that posted nothing.
    /// Otherwise it is renewed for the time until the host lists the review.
    async fn end_claim(&self) {
        let (claimed, may_be_posted) = {
            let mut state = self.lock();
            (state.claimed.take(), state.may_be_posted)
        };
        let claim = &self.active.claim;
        // The process that owns the run may be about to post.
        if claim.is_fenced() || matches!(claim, LedgerClaim::Unconfirmed(_)) {
            return;
        }
        let Some(key) = claimed else { return };
        let (claims, run) = (self.context.review_claims(), self.active.run.id());
        if may_be_posted {
            claims.claim(&key, run, self.context.clock().now()).await;
        } else {
            claims.release(&key, run).await;
        }
    }

    async fn posted(&self, head: &Commit) -> String {
        let target = self.target();
        let url = self
            .access
            .host
            .host()
            .pull_request_url(&target.repository, target.number);
        let key = claim_key(&target.repository, target.number, head);
        let owner = self.context.review_claims().owner(&key).await;
        match owner.filter(|owner| owner != self.active.run.id()) {
            Some(owner) => format!(
                "The review of {} by run {owner} is on the pull request, so this one was not posted: {url}",
                head.short()
            ),
            None => format!(
                "The review of {} is on the pull request: {url}",
                head.short()
            ),
        }
    }

    /// Claims the review of the head for this run.
    /// The claim of a run that ended is free without its review.
    async fn claim(&self, head: &Commit) -> ClaimEnd {
        let target = self.target();
        let key = claim_key(&target.repository, target.number, head);
        let (claims, run) = (self.context.review_claims(), self.active.run.id());
        let mut claimed = claims.claim(&key, run, self.context.clock().now()).await;
        if let Some(Claimed::Other(owner)) = &claimed
            && is_ended(self.context, owner).await
        {
            // The other run may have submitted it before it ended.
            if self.is_listed(head, true).await == Some(false) {
                claimed = claims
                    .claim_of_ended(&key, run, owner, self.context.clock().now())
                    .await;
            }
        }
        match claimed {
            Some(Claimed::Own) => {
                self.lock().claimed = Some(key);
                ClaimEnd::Own
            }
            Some(Claimed::Other(owner)) => {
                self.lock().claimed_by = Some(owner);
                ClaimEnd::Other
            }
            None => ClaimEnd::Unknown,
        }
    }

    async fn post(&self, answer: &str, remarks: &Remarks) -> Option<String> {
        let host = &*self.access.host;
        let target = self.target();
        // Without one, the head could not be compared in time.
        let next = self.lock().next.take();
        let Some(mut action) = next else {
            return Some(not_posted(Unposted::HostUnavailable));
        };
        loop {
            let input = match action {
                Action::End(Outcome::Posted { head }) => {
                    // Before the threads, which may take too long.
                    self.note_posted(0);
                    let resolved = self.resolve(&remarks.fixed).await;
                    self.note_posted(resolved);
                    return Some(self.posted(&head).await);
                }
                Action::End(Outcome::NotPosted(Unposted::Claimed)) => {
                    let owner = self
                        .lock()
                        .claimed_by
                        .take()
                        .map_or_else(String::new, |run| format!(" {run}"));
                    return Some(format!(
                        "The review was not posted: run{owner} posts its review of the same commit."
                    ));
                }
                Action::End(Outcome::NotPosted(why)) => return Some(not_posted(why)),
                // The text for it was not stored, or the new head was not checked out.
                Action::ReviewAgain { .. } => return Some(not_posted(Unposted::Stale)),
                Action::FetchHead | Action::CompareChanges { .. } => self.compare(action).await,
                Action::ListReviews { head } => {
                    let may_be_posted = self.lock().may_be_posted;
                    Input::Listed(self.is_listed(&head, may_be_posted).await)
                }
                Action::Claim { head } => Input::Claimed(self.claim(&head).await),
                Action::Submit {
                    head,
                    read_at,
                    is_folded,
                } => {
                    match self.access.withheld_from(&target.repository).await {
                        Ok(None) => {}
                        Ok(Some(reason)) => {
                            return Some(format!("The review was not posted: {reason}."));
                        }
                        Err(_) => return Some(not_posted(Unposted::HostUnavailable)),
                    }
                    let diff = match is_folded {
                        true => None,
                        false => host
                            .changed_files(&target.repository, target.number)
                            .await
                            .ok(),
                    };
                    let diff = diff.map(|files| files.diff());
                    let placed = place(&remarks.findings, diff.as_ref());
                    let submission = Submission::new(&head, read_at.as_ref(), answer, placed);
                    if !self.may_write(|target| target.is_submitted = true).await {
                        return Some(not_posted(Unposted::HostUnavailable));
                    }
                    let before = std::mem::replace(&mut self.lock().may_be_posted, true);
                    let posted = host
                        .submit_review(&target.repository, target.number, &submission)
                        .await;
                    let end = posted.map_or_else(|error| end_of(&error), |_| Submitted::Confirmed);
                    if matches!(end, Submitted::AnchorRejected | Submitted::Rejected) {
                        self.lock().may_be_posted = before;
                    }
                    Input::Submitted(end)
                }
            };
            action = self.lock().post.step(input)?;
        }
    }

    /// Whether the service's review of the head exists; `None` if that cannot be read.
    /// One that may be posted is looked for again, because a host can list it late.
    async fn is_listed(&self, head: &Commit, may_be_posted: bool) -> Option<bool> {
        let target = self.target();
        let readings = if may_be_posted {
            LISTING_WAITS.len()
        } else {
            1
        };
        for wait in &LISTING_WAITS[..readings] {
            tokio::time::sleep(*wait).await;
            let reviews = self
                .access
                .host
                .reviews(&target.repository, target.number)
                .await
                .ok()?;
            if is_posted(&reviews, head) {
                return Some(true);
            }
        }
        Some(false)
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
        let Ok(threads) = host.review_threads(&target.repository, target.number).await else {
            return 0;
        };
        let own = threads.entries.iter().filter(|thread| thread.is_own);
        let (done, open): (Vec<_>, Vec<_>) = own.partition(|thread| thread.is_resolved);
        // Stored before, because a process that crashes behind some of them has resolved those.
        let mut resolved = done
            .iter()
            .filter(|thread| target.resolving.contains(&thread.id))
            .count() as u64;
        for thread in open.iter().filter(|thread| fixed.contains(&thread.id)) {
            if !self
                .may_write(|target| target.resolving.push(thread.id.clone()))
                .await
            {
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
        let observed = observed_head(self.prepared.workspace.as_deref()).await;
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
                    self.active
                        .run
                        .publish(EventBody::note(NoteKind::HeadMoved, summary));
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
        Unposted::Claimed => "another run posts its review of the same commit",
        Unposted::StoreUnavailable => {
            "the service's own store did not answer. Send the request again"
        }
        Unposted::HostUnavailable => "the code host did not answer, or the head was deleted",
        Unposted::Rejected => "the code host rejected it",
    };
    format!("The review was not posted: {reason}.")
}
