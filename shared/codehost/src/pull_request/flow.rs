//! A coding run's end on the code host, as a state machine.
//!
//! A pushed branch with a description becomes a draft pull request, or changes the texts of the
//! branch's open pull request. There is no action that merges, approves or pushes. The host is
//! searched before every pull request is opened, so a lost response or a crash never opens two: the
//! machine starts again from the beginning.

/// Maximum attempts to open or edit a pull request.
const MAX_FLOW_ATTEMPTS: u32 = 3;

/// Drives the pull request flow for a single run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestFlow {
    state: State,
    /// The repository has no drafts.
    is_ordinary: bool,
    attempts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Searching,
    Opening,
    Editing(u64),
    Over,
}

/// The branch's state when the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It has no commits on the host.
    No,
    /// It has, and the agent submitted no description.
    WithoutDescription,
    /// It has, and the agent submitted a description.
    WithDescription,
}

/// An event for the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The run ended with this branch state.
    Ended(Pushed),
    /// The branch's pull request, or `None` if the host does not respond.
    Found(Option<Found>),
    /// How an attempt to open or edit a pull request ended.
    Written(Opened),
}

/// A branch's pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The branch has no pull request.
    Absent,
    /// The service's pull request is open.
    Open(u64),
    /// A person opened it, so the texts are theirs.
    Theirs(u64),
    /// A person closed or merged it.
    Closed(u64),
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The host confirmed it.
    Confirmed(u64),
    /// The answer was lost or asks to try again, or another attempt was first.
    Unknown,
    /// The repository has no drafts.
    NoDrafts,
    /// The host rejected it.
    Rejected,
}

/// An effect that the driver performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Searches the branch's pull request, in any state.
    Search,
    /// Opens a draft pull request.
    OpenDraft,
    /// Opens an ordinary pull request marked as a draft, because the repository has no drafts.
    OpenOrdinary,
    /// Replaces title and body.
    Edit(u64),
    /// Ends with this outcome.
    End(Outcome),
}

/// How the flow ended. The reply names it, with the compare URL unless a pull request is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The branch has no commits on the host.
    NothingPushed,
    /// The branch is pushed, and a person opens the pull request.
    Compare,
    /// A draft was opened, or an ordinary pull request where the repository has no drafts.
    Opened(u64),
    /// Replaced the open pull request's texts.
    Edited(u64),
    /// A person opened this branch's pull request; the texts stay.
    Theirs(u64),
    /// A person closed this branch's pull request, which stays so.
    Closed(u64),
    /// The host did not open or edit it.
    Failed,
}

impl Default for PullRequestFlow {
    fn default() -> Self {
        Self {
            state: State::Running,
            is_ordinary: false,
            attempts: 0,
        }
    }
}

impl PullRequestFlow {
    /// Advances the machine. An input that it does not wait for has no effect.
    pub fn step(&mut self, input: Input) -> Option<Action> {
        match (self.state, input) {
            (State::Running, Input::Ended(Pushed::No)) => Some(self.end(Outcome::NothingPushed)),
            (State::Running, Input::Ended(Pushed::WithoutDescription)) => {
                Some(self.end(Outcome::Compare))
            }
            (State::Running, Input::Ended(Pushed::WithDescription)) => Some(self.search()),
            (State::Searching, Input::Found(found)) => Some(self.found(found)),
            (State::Opening, Input::Written(written)) => {
                Some(self.written(written, Outcome::Opened))
            }
            (State::Editing(_), Input::Written(written)) => {
                Some(self.written(written, Outcome::Edited))
            }
            _ => None,
        }
    }

    fn search(&mut self) -> Action {
        self.state = State::Searching;
        Action::Search
    }

    fn found(&mut self, found: Option<Found>) -> Action {
        self.attempts += 1;
        match found {
            Some(Found::Closed(number)) => self.end(Outcome::Closed(number)),
            Some(Found::Theirs(number)) => self.end(Outcome::Theirs(number)),
            _ if self.attempts > MAX_FLOW_ATTEMPTS => self.end(Outcome::Failed),
            Some(Found::Open(number)) => {
                self.state = State::Editing(number);
                Action::Edit(number)
            }
            Some(Found::Absent) => {
                self.state = State::Opening;
                if self.is_ordinary {
                    Action::OpenOrdinary
                } else {
                    Action::OpenDraft
                }
            }
            None => self.search(),
        }
    }

    fn written(&mut self, written: Opened, outcome: fn(u64) -> Outcome) -> Action {
        match written {
            Opened::Confirmed(number) => self.end(outcome(number)),
            Opened::Unknown => self.search(),
            Opened::NoDrafts if !self.is_ordinary => {
                self.is_ordinary = true;
                self.search()
            }
            Opened::NoDrafts | Opened::Rejected => self.end(Outcome::Failed),
        }
    }

    fn end(&mut self, outcome: Outcome) -> Action {
        self.state = State::Over;
        Action::End(outcome)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::faults::{Fault, faults};

    fn after(inputs: &[Input]) -> Option<Action> {
        let mut flow = PullRequestFlow::default();
        inputs
            .iter()
            .map(|input| flow.step(*input))
            .last()
            .flatten()
    }

    #[test]
    fn branch_and_description_decide() {
        let pushed = Input::Ended(Pushed::WithDescription);
        let found = |found| Input::Found(Some(found));
        for (inputs, expected) in [
            (
                vec![Input::Ended(Pushed::No)],
                Action::End(Outcome::NothingPushed),
            ),
            (
                vec![Input::Ended(Pushed::WithoutDescription)],
                Action::End(Outcome::Compare),
            ),
            (vec![pushed], Action::Search),
            (vec![pushed, found(Found::Absent)], Action::OpenDraft),
            (vec![pushed, found(Found::Open(3))], Action::Edit(3)),
            (
                vec![pushed, found(Found::Closed(3))],
                Action::End(Outcome::Closed(3)),
            ),
            (
                vec![pushed, found(Found::Theirs(3))],
                Action::End(Outcome::Theirs(3)),
            ),
            (vec![pushed, Input::Found(None)], Action::Search),
            (
                vec![
                    pushed,
                    found(Found::Absent),
                    Input::Written(Opened::Rejected),
                ],
                Action::End(Outcome::Failed),
            ),
            (
                vec![
                    pushed,
                    found(Found::Absent),
                    Input::Written(Opened::Unknown),
                ],
                Action::Search,
            ),
            (
                vec![
                    pushed,
                    found(Found::Absent),
                    Input::Written(Opened::NoDrafts),
                    found(Found::Absent),
                ],
                Action::OpenOrdinary,
            ),
        ] {
            assert_eq!(after(&inputs), Some(expected), "{inputs:?}");
        }
        assert_eq!(after(&[pushed, pushed]), None);
        assert_eq!(after(&[Input::Written(Opened::Confirmed(1))]), None);
    }

    #[test]
    fn silent_host_ends_the_flow() {
        let mut flow = PullRequestFlow::default();
        let mut action = flow.step(Input::Ended(Pushed::WithDescription));
        let mut searches = 0;
        while action == Some(Action::Search) {
            searches += 1;
            action = flow.step(Input::Found(None));
        }
        assert_eq!(
            (searches, action),
            (MAX_FLOW_ATTEMPTS + 1, Some(Action::End(Outcome::Failed)))
        );
    }

    /// A host that has at most the opened drafts, and the texts from the last write.
    #[derive(Default)]
    struct FakeHost {
        drafts: u64,
        writes: u64,
    }

    /// Drives the flow until it ends; `None` after a crash.
    fn drive(host: &mut FakeHost, faults: &mut impl Iterator<Item = Fault>) -> Option<Outcome> {
        let mut flow = PullRequestFlow::default();
        let mut input = Input::Ended(Pushed::WithDescription);
        loop {
            let action = flow.step(input).unwrap();
            if let Action::End(outcome) = action {
                return Some(outcome);
            }
            let fault = faults.next().unwrap_or(Fault::None);
            if fault == Fault::CrashBefore {
                return None;
            }
            let is_lost = matches!(fault, Fault::LostRequest | Fault::LostAnswer);
            input = if action == Action::Search {
                let found = if host.drafts == 0 {
                    Found::Absent
                } else {
                    Found::Open(host.drafts)
                };
                Input::Found((!is_lost).then_some(found))
            } else {
                if fault != Fault::LostRequest {
                    host.drafts += u64::from(action == Action::OpenDraft);
                    host.writes += 1;
                }
                Input::Written(if is_lost {
                    Opened::Unknown
                } else {
                    Opened::Confirmed(host.drafts)
                })
            };
            if fault == Fault::CrashAfter {
                return None;
            }
        }
    }

    proptest! {
        /// Faults at any action, restarts after each crash, and a repeated request at the end.
        #[test]
        fn one_draft_is_opened(faults in faults(10)) {
            let mut host = FakeHost::default();
            let mut faults = faults.into_iter();
            let outcome = loop {
                if let Some(outcome) = drive(&mut host, &mut faults) {
                    break outcome;
                }
            };
            let is_written = matches!(outcome, Outcome::Opened(1) | Outcome::Edited(1));
            prop_assert!(is_written || outcome == Outcome::Failed, "{outcome:?}");
            prop_assert!(host.drafts <= 1);
            prop_assert!(!is_written || host.writes > 0);
            drive(&mut host, &mut std::iter::empty());
            prop_assert_eq!(host.drafts, 1);
        }
    }
}
