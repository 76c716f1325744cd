//! Tests posting a review, with a host that loses responses and a driver that crashes.

use ars_types::RunId;
use proptest::prelude::*;

use super::*;
use crate::faults::{Fault, faults};
use crate::review::{Claimed, OwnReview, Placed, ReviewClaims, Submission, is_posted};

fn commit(digit: char) -> Commit {
    Commit::parse(&digit.to_string().repeat(40)).unwrap()
}

fn ended(observed: Option<char>, reported: Option<&str>) -> Input {
    Input::Ended {
        observed: observed.map(commit),
        reported: reported.map(str::to_owned),
    }
}

/// Feeds the inputs and returns the last action.
fn after(inputs: &[Input]) -> Option<Action> {
    let mut post = ReviewPost::new(commit('a'));
    inputs
        .iter()
        .map(|input| post.step(input.clone()))
        .last()
        .flatten()
}

fn not_posted(why: Unposted) -> Option<Action> {
    Some(Action::End(Outcome::NotPosted(why)))
}

#[test]
fn head_that_was_read_decides() {
    for (observed, reported, expected) in [
        (Some('a'), None, Some(Action::FetchHead)),
        (Some('a'), Some("bbbbbbb"), Some(Action::FetchHead)),
        (None, Some("aaaaaaa"), Some(Action::FetchHead)),
        (Some('b'), Some("aaaaaaa"), not_posted(Unposted::OtherHead)),
        (None, Some("bbbbbbb"), not_posted(Unposted::OtherHead)),
        (None, Some("aaa"), not_posted(Unposted::OtherHead)),
        (None, None, not_posted(Unposted::UnknownHead)),
    ] {
        assert_eq!(
            after(&[ended(observed, reported)]),
            expected,
            "{observed:?} {reported:?}"
        );
    }
}

#[test]
fn moved_head_is_reviewed_again_once() {
    let mut inputs = vec![
        ended(Some('a'), None),
        Input::Head(Some(commit('b'))),
        Input::SameChanges(Some(false)),
    ];
    assert_eq!(
        after(&inputs),
        Some(Action::ReviewAgain { head: commit('b') })
    );
    inputs.push(ended(Some('b'), None));
    inputs.push(Input::Head(Some(commit('c'))));
    inputs.push(Input::SameChanges(None));
    assert_eq!(after(&inputs), not_posted(Unposted::Stale));
}

#[test]
fn rebase_of_the_same_changes_is_posted_at_the_new_head() {
    let inputs = [
        ended(Some('a'), None),
        Input::Head(Some(commit('b'))),
        Input::SameChanges(Some(true)),
        Input::Listed(Some(false)),
        Input::Claimed(ClaimEnd::Own),
    ];
    let submit = Action::Submit {
        head: commit('b'),
        read_at: Some(commit('a')),
        is_folded: false,
    };
    assert_eq!(after(&inputs), Some(submit));
}

#[test]
fn rejected_anchor_folds_the_findings_once() {
    let mut inputs = vec![
        ended(Some('a'), None),
        Input::Head(Some(commit('a'))),
        Input::Listed(Some(false)),
        Input::Claimed(ClaimEnd::Own),
        Input::Submitted(Submitted::AnchorRejected),
        Input::Listed(Some(false)),
        Input::Claimed(ClaimEnd::Own),
    ];
    assert_eq!(
        after(&inputs),
        Some(Action::Submit {
            head: commit('a'),
            read_at: None,
            is_folded: true
        })
    );
    inputs.push(Input::Submitted(Submitted::AnchorRejected));
    assert_eq!(after(&inputs), not_posted(Unposted::Rejected));
}

#[test]
fn unreadable_host_posts_nothing() {
    let start = [ended(Some('a'), None), Input::Head(None)];
    assert_eq!(after(&start), not_posted(Unposted::HostUnavailable));
    let start = [
        ended(Some('a'), None),
        Input::Head(Some(commit('a'))),
        Input::Listed(None),
    ];
    assert_eq!(after(&start), not_posted(Unposted::HostUnavailable));
}

#[test]
fn review_claimed_elsewhere_is_not_posted() {
    let mut inputs = vec![
        ended(Some('a'), None),
        Input::Head(Some(commit('a'))),
        Input::Listed(Some(false)),
        Input::Claimed(ClaimEnd::Other),
    ];
    assert_eq!(
        after(&inputs),
        Some(Action::ListReviews { head: commit('a') })
    );
    inputs.push(Input::Listed(Some(false)));
    assert_eq!(after(&inputs), not_posted(Unposted::Claimed));
    inputs[4] = Input::Listed(Some(true));
    assert_eq!(
        after(&inputs),
        Some(Action::End(Outcome::Posted { head: commit('a') }))
    );
    inputs.truncate(3);
    inputs.push(Input::Claimed(ClaimEnd::Unknown));
    assert_eq!(after(&inputs), not_posted(Unposted::StoreUnavailable));
}

#[test]
fn unexpected_input_has_no_effect() {
    assert_eq!(after(&[Input::Listed(Some(false))]), None);
    assert_eq!(
        after(&[ended(Some('a'), None), ended(Some('b'), None)]),
        None
    );
}

/// The pull request, with a head that moves at given submissions.
struct FakeHost {
    head: Commit,
    reviews: Vec<OwnReview>,
    rejects_anchors: bool,
}

/// Drives the machine until it ends; `None` after a crash.
fn drive(
    host: &mut FakeHost,
    faults: &mut impl Iterator<Item = Fault>,
    target: &Commit,
) -> Option<Outcome> {
    let mut post = ReviewPost::new(target.clone());
    let mut input = Input::Ended {
        observed: Some(target.clone()),
        reported: None,
    };
    loop {
        input = match post.step(input).unwrap() {
            Action::FetchHead => Input::Head(Some(host.head.clone())),
            Action::CompareChanges { .. } => Input::SameChanges(Some(false)),
            Action::ReviewAgain { head } => Input::Ended {
                observed: Some(head),
                reported: None,
            },
            Action::ListReviews { head } => Input::Listed(Some(is_posted(&host.reviews, &head))),
            Action::Claim { .. } => Input::Claimed(ClaimEnd::Own),
            Action::Submit {
                head,
                read_at,
                is_folded,
            } => {
                let fault = faults.next().unwrap_or(Fault::None);
                match fault {
                    Fault::CrashBefore => return None,
                    Fault::LostRequest => Input::Submitted(Submitted::Unknown),
                    _ if host.rejects_anchors && !is_folded => {
                        Input::Submitted(Submitted::AnchorRejected)
                    }
                    _ => {
                        let review = Submission::new(
                            &head,
                            read_at.as_ref(),
                            "LGTM: safe",
                            Placed::default(),
                        );
                        host.reviews.push(OwnReview {
                            is_own: true,
                            body: review.body().to_owned(),
                        });
                        match fault {
                            Fault::CrashAfter => return None,
                            Fault::LostAnswer => Input::Submitted(Submitted::Unknown),
                            _ => Input::Submitted(Submitted::Confirmed),
                        }
                    }
                }
            }
            Action::End(outcome) => return Some(outcome),
        };
    }
}

proptest! {
    /// Faults at any submission, restarts after each crash, and a repeated request at the end.
    #[test]
    fn one_review_is_posted_per_head(
        faults in faults(8),
        rejects_anchors: bool,
        moves: bool,
    ) {
        let head = if moves { commit('b') } else { commit('a') };
        let mut host = FakeHost { head: head.clone(), reviews: Vec::new(), rejects_anchors };
        let mut faults = faults.into_iter();
        let outcome = loop {
            if let Some(outcome) = drive(&mut host, &mut faults, &commit('a')) {
                break outcome;
            }
        };
        let is_there = outcome == Outcome::Posted { head: head.clone() };
        prop_assert!(is_there || outcome == Outcome::NotPosted(Unposted::HostUnavailable));
        prop_assert_eq!(host.reviews.len(), usize::from(is_there));
        let again = drive(&mut host, &mut std::iter::empty(), &commit('a'));
        prop_assert_eq!(again, Some(Outcome::Posted { head }));
        prop_assert_eq!(host.reviews.len(), 1);
    }

    /// Two runs review the same head, and their steps interleave in any order.
    #[test]
    fn interleaved_runs_post_one_review(order: Vec<bool>) {
        let mut reviews: Vec<OwnReview> = Vec::new();
        let mut claims = ReviewClaims::default();
        let start = || Some(Input::Ended { observed: Some(commit('a')), reported: None });
        let mut runs = ["r1", "r2"].map(|id| (RunId::parse(id).unwrap(), ReviewPost::new(commit('a')), start()));
        let rest = [true, false].into_iter().cycle().take(40);
        for is_second in order.into_iter().chain(rest) {
            let (run, post, input) = &mut runs[usize::from(is_second)];
            let Some(action) = input.take().and_then(|input| post.step(input)) else { continue };
            *input = match action {
                Action::FetchHead => Some(Input::Head(Some(commit('a')))),
                Action::ListReviews { head } => Some(Input::Listed(Some(is_posted(&reviews, &head)))),
                Action::Claim { .. } => Some(Input::Claimed(match claims.claim("k", run, 0) {
                    Claimed::Own => ClaimEnd::Own,
                    Claimed::Other(_) => ClaimEnd::Other,
                })),
                Action::Submit { head, .. } => {
                    let review = Submission::new(&head, None, "LGTM: safe", Placed::default());
                    reviews.push(OwnReview { is_own: true, body: review.body().to_owned() });
                    Some(Input::Submitted(Submitted::Confirmed))
                }
                _ => None,
            };
        }
        prop_assert_eq!(reviews.len(), 1);
    }
}
