//! Posts a review, as a state machine.
//!
//! The head that was read decides. A review of another or unknown head is not posted. A head that
//! moved is reviewed again once. Own reviews are listed before every submission, so a repeated
//! request, a lost response or a crash never posts twice: the machine starts again from the
//! beginning and finds the review. Then the head's review is claimed, so only one of two
//! simultaneous runs submits.

use crate::diff::Commit;

/// Maximum number of submissions for a review.
const MAX_SUBMIT_ATTEMPTS: u32 = 3;

/// A review that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPost {
    /// The pull request's head when the review began.
    target: Commit,
    state: State,
    has_reviewed_again: bool,
    /// The head differs, but has the same changes that were read.
    is_rebased: bool,
    head: Option<Commit>,
    is_folded: bool,
    /// Another run claimed the head's review.
    is_claimed_elsewhere: bool,
    attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reviewing,
    FetchingHead,
    Comparing,
    Listing,
    Claiming,
    Submitting,
    Over,
}

/// An event for the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The review has ended.
    Ended {
        /// The tree's commit, read before the tree was released.
        observed: Option<Commit>,
        /// The commit that the verdict names, possibly shortened.
        reported: Option<String>,
    },
    /// The pull request's head now, or `None` if it cannot be read or was deleted.
    Head(Option<Commit>),
    /// Whether the new head has the same changes; `None` if that is unknown.
    SameChanges(Option<bool>),
    /// Whether the service's review of the head exists; `None` if that cannot be read.
    Listed(Option<bool>),
    /// How a claim attempt ended.
    Claimed(ClaimEnd),
    /// How a submission attempt ended.
    Submitted(Submitted),
}

/// How a claim attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// The run owns the head's review.
    Own,
    /// Another run owns it.
    Other,
    /// The claim store does not respond.
    Unknown,
}

/// How a submission attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// The host confirmed it.
    Confirmed,
    /// The host rejected an anchor, so it stored nothing.
    AnchorRejected,
    /// The answer was lost or asks to try again, so it is unknown whether the review exists.
    Unknown,
    /// The host rejected the review.
    Rejected,
}

/// An effect that the driver performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Reads the pull request's head.
    FetchHead,
    /// Compares the changes in two heads.
    CompareChanges {
        /// The head that was read.
        read: Commit,
        /// The pull request's head now.
        head: Commit,
    },
    /// Notes `head_moved`, and lets the same run review this head.
    ReviewAgain {
        /// The head to review.
        head: Commit,
    },
    /// Lists the service's own reviews, for this head's marker.
    ListReviews {
        /// The head to review.
        head: Commit,
    },
    /// Claims this head's review for the run, or renews the run's claim.
    Claim {
        /// The head to review.
        head: Commit,
    },
    /// Submits the finished review.
    Submit {
        /// The head that it is bound to.
        head: Commit,
        /// The commit that was read, if the head is a rebase of it.
        read_at: Option<Commit>,
        /// Lists every finding in the body, because the host rejected an anchor.
        is_folded: bool,
    },
    /// Ends with this outcome.
    End(Outcome),
}

/// How the post ended. The reply to the requester names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This head's review is on the pull request.
    Posted {
        /// The head to review.
        head: Commit,
    },
    /// No review was posted.
    NotPosted(Unposted),
}

/// Why no review was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unposted {
    /// It is not known which commit was read.
    UnknownHead,
    /// Another commit than the head was read.
    OtherHead,
    /// The head moved again after the second review.
    Stale,
    /// Another run posts this head's review.
    Claimed,
    /// The claim store does not respond.
    StoreUnavailable,
    /// The head, or the own reviews, cannot be read now.
    HostUnavailable,
    /// The host rejected the review.
    Rejected,
}

impl ReviewPost {
    /// Starts a review of this head.
    pub const fn new(target: Commit) -> Self {
        Self {
            target,
            state: State::Reviewing,
            has_reviewed_again: false,
            is_rebased: false,
            head: None,
            is_folded: false,
            is_claimed_elsewhere: false,
            attempts: 0,
        }
    }

    /// Starts a run's second review, of this head.
    pub const fn again(target: Commit) -> Self {
        let mut post = Self::new(target);
        post.has_reviewed_again = true;
        post
    }

    /// Advances the machine. An input that it does not wait for has no effect.
    pub fn step(&mut self, input: Input) -> Option<Action> {
        match (self.state, input) {
            (State::Reviewing, Input::Ended { observed, reported }) => {
                Some(self.ended(observed, reported))
            }
            (State::FetchingHead, Input::Head(head)) => Some(self.head_read(head)),
            (State::Comparing, Input::SameChanges(same)) => Some(self.compared(same)),
            (State::Listing, Input::Listed(is_posted)) => Some(self.listed(is_posted)),
            (State::Claiming, Input::Claimed(end)) => Some(self.claimed(end)),
            (State::Submitting, Input::Submitted(submitted)) => Some(self.submitted(submitted)),
            _ => None,
        }
    }

    fn ended(&mut self, observed: Option<Commit>, reported: Option<String>) -> Action {
        // An observation outweighs a report.
        let is_target = match (observed, reported) {
            (Some(observed), _) => observed == self.target,
            (None, Some(reported)) => self.target.is_reported(&reported),
            (None, None) => return self.not_posted(Unposted::UnknownHead),
        };
        if !is_target {
            return self.not_posted(Unposted::OtherHead);
        }
        self.state = State::FetchingHead;
        Action::FetchHead
    }

    fn head_read(&mut self, head: Option<Commit>) -> Action {
        let Some(head) = head else {
            return self.not_posted(Unposted::HostUnavailable);
        };
        if head == self.target {
            return self.list(head);
        }
        self.head = Some(head.clone());
        self.state = State::Comparing;
        Action::CompareChanges {
            read: self.target.clone(),
            head,
        }
    }

    fn compared(&mut self, same: Option<bool>) -> Action {
        let Some(head) = self.head.clone() else {
            return self.not_posted(Unposted::UnknownHead);
        };
        match same {
            Some(true) => {
                self.is_rebased = true;
                self.list(head)
            }
            _ if self.has_reviewed_again => self.not_posted(Unposted::Stale),
            // Without a comparison the changes may differ.
            Some(false) | None => {
                self.has_reviewed_again = true;
                self.target = head.clone();
                self.state = State::Reviewing;
                Action::ReviewAgain { head }
            }
        }
    }

    fn list(&mut self, head: Commit) -> Action {
        self.head = Some(head.clone());
        self.state = State::Listing;
        Action::ListReviews { head }
    }

    fn listed(&mut self, is_posted: Option<bool>) -> Action {
        let Some(head) = self.head.clone() else {
            return self.not_posted(Unposted::UnknownHead);
        };
        match is_posted {
            Some(true) => self.posted(head),
            Some(false) if self.is_claimed_elsewhere => self.not_posted(Unposted::Claimed),
            Some(false) if self.attempts >= MAX_SUBMIT_ATTEMPTS => {
                self.not_posted(Unposted::HostUnavailable)
            }
            Some(false) => {
                self.attempts += 1;
                self.state = State::Claiming;
                Action::Claim { head }
            }
            None => self.not_posted(Unposted::HostUnavailable),
        }
    }

    fn claimed(&mut self, end: ClaimEnd) -> Action {
        let Some(head) = self.head.clone() else {
            return self.not_posted(Unposted::UnknownHead);
        };
        match end {
            ClaimEnd::Own => {
                self.state = State::Submitting;
                let read_at = self.is_rebased.then(|| self.target.clone());
                Action::Submit {
                    head,
                    read_at,
                    is_folded: self.is_folded,
                }
            }
            // It may have been posted since the list was read.
            ClaimEnd::Other => {
                self.is_claimed_elsewhere = true;
                self.list(head)
            }
            ClaimEnd::Unknown => self.not_posted(Unposted::StoreUnavailable),
        }
    }

    fn submitted(&mut self, submitted: Submitted) -> Action {
        let Some(head) = self.head.clone() else {
            return self.not_posted(Unposted::UnknownHead);
        };
        match submitted {
            Submitted::Confirmed => self.posted(head),
            Submitted::AnchorRejected if !self.is_folded => {
                self.is_folded = true;
                self.list(head)
            }
            Submitted::AnchorRejected | Submitted::Rejected => self.not_posted(Unposted::Rejected),
            Submitted::Unknown => self.list(head),
        }
    }

    fn posted(&mut self, head: Commit) -> Action {
        self.state = State::Over;
        Action::End(Outcome::Posted { head })
    }

    fn not_posted(&mut self, why: Unposted) -> Action {
        self.state = State::Over;
        Action::End(Outcome::NotPosted(why))
    }
}

#[cfg(test)]
#[path = "post_tests.rs"]
mod tests;
