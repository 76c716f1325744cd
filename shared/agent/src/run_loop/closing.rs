//! The reasons for closing a run, and its last answer.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, StopMode, UnixMillis};
use serde::{Deserialize, Serialize};

use super::{
    INFRA_FAILURES, Loop,
    protocol::{Action, Purpose, RunOutcome},
};
use crate::{
    budget::{Budget, CLOSING_CALL_MS},
    message::Part,
    money::dollars,
};

/// The answer when a closing call yields none.
const NO_CLOSING_WORDS: &str =
    "The run ended before a summary could be written; the steps above show what was done.";
/// The answer when there is a money cap and no price.
const UNPRICED: &str = "❌ The run was not allowed to go on: the money a run may cost is capped, and no price is \
    configured for its model.";

/// The reason for the closing call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Closing {
    /// The time budget.
    Time,
    /// The turn budget, or twice as many model calls.
    Turns,
    /// The money cap, in micro-dollars.
    Money { cap: u64 },
    /// The workspace fails.
    SandboxDead { last_error: String },
    /// A soft stop.
    Stopped,
}

impl Closing {
    fn note(&self, budget: Budget) -> EventBody {
        match self {
            Self::Time => EventBody::note(
                NoteKind::TimeBudgetExhausted,
                format!("the time budget of {} is used up", budget.minutes()),
            ),
            Self::Turns => EventBody::note(
                NoteKind::TurnBudgetExhausted,
                format!("the budget of {} turns is used up", budget.turns),
            ),
            Self::Money { cap } => EventBody::note(
                NoteKind::MoneyBudgetExhausted,
                format!("the money cap of {} leaves no room for another step", dollars(*cap)),
            ),
            Self::SandboxDead { last_error } => EventBody::note(
                NoteKind::SandboxDead,
                format!("the workspace failed {INFRA_FAILURES} times in a row: {last_error}"),
            ),
            Self::Stopped => stopped(StopMode::Soft),
        }
    }

    /// The instruction for the model.
    fn request(&self) -> String {
        let why = match self {
            Self::Time => "The time for this run is used up.".to_owned(),
            Self::Turns => "The turns for this run are used up.".to_owned(),
            Self::Money { .. } => "The money for this run is used up.".to_owned(),
            Self::SandboxDead { last_error } => format!(
                "The workspace stopped working. Its last error was: {last_error}. Do not guess at the cause."
            ),
            Self::Stopped => "The requester asked to stop.".to_owned(),
        };
        format!(
            "{why} No tool can be called any more. Answer now: what was found or done, and what is left open."
        )
    }

    /// The text before the run's last answer.
    fn warning(&self, budget: Budget) -> String {
        match self {
            Self::Time => format!("⚠️ The time budget of {} ended this run.", budget.minutes()),
            Self::Turns => format!("⚠️ The budget of {} turns ended this run.", budget.turns),
            Self::Money { cap } => format!("⚠️ The money cap of {} ended this run.", dollars(*cap)),
            Self::SandboxDead { .. } => "⚠️ The workspace stopped working during this run.".to_owned(),
            Self::Stopped => "⏹️ Stopped early on request.".to_owned(),
        }
    }

    const fn status(&self) -> RunStatus {
        match self {
            Self::Time | Self::Turns | Self::Money { .. } | Self::SandboxDead { .. } => RunStatus::Completed,
            Self::Stopped => RunStatus::StoppedSoft,
        }
    }
}

impl Loop {
    /// Returns the reason against another step, if there is one.
    pub(super) fn must_close(&self, now: UnixMillis) -> Option<Closing> {
        let saved = &self.saved;
        if saved.soft_stop {
            return Some(Closing::Stopped);
        }
        if saved.infra.streak >= INFRA_FAILURES {
            return Some(Closing::SandboxDead { last_error: saved.infra.last_error.clone() });
        }
        if self.remaining_ms(now) == 0 {
            return Some(Closing::Time);
        }
        if self.turns_used >= saved.budget.turns || self.iterations >= saved.budget.iterations() {
            return Some(Closing::Turns);
        }
        let cap = saved.limits.cap?;
        (!self.affords_step()).then_some(Closing::Money { cap: cap.run_microusd })
    }

    /// Makes a last call without tools, or ends the run when it cannot be paid.
    pub(super) fn close(&mut self, why: Closing) -> Vec<Action> {
        let mut actions = vec![Action::Publish(why.note(self.saved.budget))];
        if !self.affords_call() {
            actions.extend(self.finish_closing(&why, ""));
            return actions;
        }
        self.conversation.tell(vec![Part::text(why.request())]);
        self.saved.closing = Some(why);
        actions.extend(self.trim_to_fit());
        actions.push(self.call(Purpose::Close, CLOSING_CALL_MS));
        actions
    }

    /// Repeats the closing call of a run that was resumed during one.
    pub(super) fn close_again(&mut self, why: &Closing) -> Vec<Action> {
        let request = Part::text(why.request());
        let is_told =
            self.conversation.shown().last().is_some_and(|turn| turn.parts.last() == Some(&request));
        if !is_told {
            self.conversation.tell(vec![request]);
        }
        vec![self.call(Purpose::Close, CLOSING_CALL_MS)]
    }

    /// Ends a run that was closing. A concurrent stop determines the status, because its sender received an acknowledgement.
    pub(super) fn finish_closing(&mut self, why: &Closing, said: &str) -> Vec<Action> {
        if self.saved.soft_stop && *why != Closing::Stopped {
            return self.finish_stopped(said);
        }
        let words = if said.is_empty() { NO_CLOSING_WORDS } else { said };
        let answer = format!("{}\n\n{words}", why.warning(self.saved.budget));
        self.end(RunOutcome { status: why.status(), cut_short: true, answer: Some(answer) })
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
        self.end(RunOutcome { status, cut_short: false, answer })
    }

    fn end(&mut self, ending: RunOutcome) -> Vec<Action> {
        self.is_over = true;
        vec![Action::Finish(ending)]
    }
}

fn stopped(mode: StopMode) -> EventBody {
    EventBody::RunNote {
        kind: NoteKind::Stopped,
        summary: format!("stopped on request ({mode})"),
        mode: Some(mode),
        actor: None,
        from: None,
        to: None,
    }
}
