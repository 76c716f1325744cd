//! The closing call, and a run's last answer.

use ars_types::{RunStatus, StopMode, UnixMillis};

use super::{
    Loop,
    closing::{Closing, INFRA_FAILURES, stopped},
    protocol::{Action, Purpose, RunOutcome},
};
use crate::{budget::CLOSING_CALL_MS, message::Part};

/// The answer when a closing call yields none.
const NO_CLOSING_WORDS: &str =
    "The run ended before a summary could be written; the steps above show what was done.";
/// The answer when there is a money cap and no price.
const UNPRICED: &str = "❌ The run was not allowed to go on: the money a run may cost is capped, and no price is \
    configured for its model. Add one to the configuration, as [prices.\"provider/model\"].";

impl Loop {
    /// Returns the reason against another step, if there is any.
    pub(super) fn must_close(&self, now: UnixMillis) -> Option<Closing> {
        let saved = &self.saved;
        if saved.soft_stop {
            return Some(Closing::Stopped);
        }
        if saved.infra.streak >= INFRA_FAILURES {
            return Some(Closing::SandboxDead {
                last_error: saved.infra.last_error.clone(),
            });
        }
        if self.remaining_ms(now) == 0 {
            return Some(Closing::Time);
        }
        if self.turns_used >= saved.budget.turns || self.iterations >= saved.budget.iterations() {
            return Some(Closing::Turns);
        }
        let cap = saved.limits.cap?;
        (!self.affords_step()).then_some(Closing::Money {
            cap: cap.run_microusd,
        })
    }

    /// Makes a last call without tools, or ends the run when it cannot be paid.
    pub(super) fn close(&mut self, why: Closing) -> Vec<Action> {
        let mut actions = vec![Action::Publish(why.note(self.saved.budget))];
        if !self.affords_call() {
            actions.extend(self.finish_closing(&why, ""));
            return actions;
        }
        self.conversation
            .add_user_parts(vec![Part::text(why.request())]);
        self.saved.closing = Some(why);
        actions.extend(self.trim_to_fit());
        actions.push(self.call(Purpose::Close, CLOSING_CALL_MS));
        actions
    }

    /// Repeats the closing call when a run was resumed during it.
    pub(super) fn close_again(&mut self, why: &Closing) -> Vec<Action> {
        let request = Part::text(why.request());
        let is_told = self
            .conversation
            .shown()
            .last()
            .is_some_and(|turn| turn.parts.last() == Some(&request));
        if !is_told {
            self.conversation.add_user_parts(vec![request]);
        }
        vec![self.call(Purpose::Close, CLOSING_CALL_MS)]
    }

    /// Ends a run that was closing. A concurrent stop determines the status, because the sender
    /// received an acknowledgement.
    pub(super) fn finish_closing(&mut self, why: &Closing, said: &str) -> Vec<Action> {
        if self.saved.soft_stop && *why != Closing::Stopped {
            return self.finish_stopped(said);
        }
        let words = if said.is_empty() {
            NO_CLOSING_WORDS
        } else {
            said
        };
        let answer = format!("{}\n\n{words}", why.warning(self.saved.budget));
        self.end(RunOutcome {
            status: why.status(),
            cut_short: true,
            answer: Some(answer),
        })
    }

    /// Ends with an answer that the model gave behind a soft stop.
    pub(super) fn finish_stopped(&mut self, said: &str) -> Vec<Action> {
        let mut actions = vec![Action::Publish(stopped(StopMode::Soft))];
        actions.extend(self.finish_closing(&Closing::Stopped, said));
        actions
    }

    pub(super) fn hard_stop(&mut self) -> Vec<Action> {
        let mut actions = vec![Action::Publish(stopped(StopMode::Hard))];
        actions.extend(self.end(RunOutcome {
            status: RunStatus::StoppedHard,
            cut_short: true,
            answer: None,
        }));
        actions
    }

    /// Ends a run with unbounded cost.
    pub(super) fn finish_unpriced(&mut self) -> Vec<Action> {
        self.finish(RunStatus::Failed, Some(UNPRICED.to_owned()))
    }

    pub(super) fn finish(&mut self, status: RunStatus, answer: Option<String>) -> Vec<Action> {
        self.end(RunOutcome {
            status,
            cut_short: false,
            answer,
        })
    }

    fn end(&mut self, ending: RunOutcome) -> Vec<Action> {
        self.is_over = true;
        vec![Action::Finish(ending)]
    }
}
