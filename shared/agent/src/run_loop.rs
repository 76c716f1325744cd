//! The loop: `step(input, now) -> actions` (bot supplement section 14).
//!
//! The caller performs the actions in order and feeds back what came of them; the loop never waits. Exactly one
//! of [`Action::CallModel`], [`Action::RunTools`] and [`Action::Finish`] ends every list of actions, so the
//! caller always knows what to wait for. Nothing follows a `Finish`.

use ars_events::{EventBody, NoteKind};
use ars_types::{RunStatus, StopMode, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    budget::{Budget, CLOSING_CALL_MS},
    message::{ModelTurn, Part, Role, StopReason, ToolContent, Turn, Usage},
};

/// The tool whose calls alone do not use up a turn.
const STATUS_TOOL: &str = "update_status";
/// Infrastructure failures in a row, without a success between, that end the run.
const INFRA_FAILURES: u32 = 2;
/// Said when a closing call yields nothing.
const NO_CLOSING_WORDS: &str =
    "The run ended before a summary could be written; the steps above show what was done.";

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// The run begins.
    Start,
    /// The model answered.
    Model(ModelTurn),
    /// The model could not be asked; words safe to show.
    ModelFailed(String),
    /// The time allowed for the model call passed.
    ModelTimedOut,
    /// Every call of the last `RunTools`, answered in call order.
    Tools(Vec<ToolOutcome>),
    /// Somebody asked for a soft stop. Takes effect at the next step boundary.
    SoftStop,
    /// Somebody asked for a hard stop; work in flight was aborted.
    HardStop,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Publish an event.
    Publish(EventBody),
    /// Ask the model, with [`Loop::turns`]. Ends the list.
    CallModel {
        /// False for the closing call.
        may_call_tools: bool,
        /// Time allowed, in milliseconds.
        limit_ms: i64,
    },
    /// Run these calls: consecutive side-effect-free ones together, others alone and in order. Ends the list.
    RunTools(Vec<ToolCall>),
    /// The run is over. Ends the list.
    Finish(Ending),
    /// Nothing changes what the caller already waits for.
    Wait,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The status.
    pub status: RunStatus,
    /// What the requester is told; absent when the run was stopped hard.
    pub answer: Option<String>,
}

/// One call the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its outcome.
    pub call_id: String,
    /// The tool; may name one that does not exist.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The call.
    pub call_id: String,
    /// False when the tool failed.
    pub ok: bool,
    /// The sandbox or transport failed, not the command.
    pub infra: bool,
    /// What the model is told.
    pub content: Vec<ToolContent>,
}

/// Why the closing call is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Closing {
    Time,
    Turns,
    SandboxDead { last_error: String },
    Stopped,
}

/// One run's loop. Serializable: with the transcript it is what a new process needs to carry the run on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Loop {
    budget: Budget,
    deadline: UnixMillis,
    turns: Vec<Turn>,
    turns_used: u32,
    iterations: u32,
    infra_streak: u32,
    warned: bool,
    soft_stop: bool,
    closing: Option<Closing>,
    usage: Usage,
}

impl Loop {
    /// A run that begins at `now` with this conversation, whose last turn is the request.
    pub fn new(budget: Budget, turns: Vec<Turn>, now: UnixMillis) -> Self {
        Self {
            budget,
            deadline: budget.deadline(now),
            turns,
            turns_used: 0,
            iterations: 0,
            infra_streak: 0,
            warned: false,
            soft_stop: false,
            closing: None,
            usage: Usage::default(),
        }
    }

    /// The conversation to send.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Model calls answered so far.
    pub fn steps(&self) -> u32 {
        self.iterations
    }

    /// Tokens used so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Milliseconds left of the time budget; never negative.
    pub fn remaining_ms(&self, now: UnixMillis) -> i64 {
        self.deadline.saturating_sub(now).max(0)
    }

    /// Takes what happened and says what to do.
    pub fn step(&mut self, input: Input, now: UnixMillis) -> Vec<Action> {
        match input {
            Input::Start => vec![self.call(now)],
            Input::SoftStop => {
                self.soft_stop = true;
                vec![Action::Wait]
            }
            Input::HardStop => hard_stop(),
            Input::ModelFailed(reason) => self.model_failed(reason),
            Input::ModelTimedOut if self.closing.is_some() => self.finish_closing(""),
            Input::ModelTimedOut => self.close(Closing::Time),
            Input::Model(turn) => self.model_answered(turn, now),
            Input::Tools(outcomes) => self.tools_answered(outcomes, now),
        }
    }

    fn call(&self, now: UnixMillis) -> Action {
        Action::CallModel { may_call_tools: true, limit_ms: self.remaining_ms(now) }
    }

    fn model_failed(&self, reason: String) -> Vec<Action> {
        match self.closing {
            Some(_) => self.finish_closing(""),
            None => vec![Action::Finish(Ending { status: RunStatus::Failed, answer: Some(reason) })],
        }
    }

    fn model_answered(&mut self, turn: ModelTurn, now: UnixMillis) -> Vec<Action> {
        self.usage += turn.usage;
        self.iterations += 1;
        let prose = prose(&turn.parts);
        if self.closing.is_some() {
            return self.finish_closing(&prose);
        }
        let calls = calls(&turn.parts);
        self.turns.push(Turn { role: Role::Assistant, parts: turn.parts });
        if calls.is_empty()
            && turn.stop == StopReason::PauseTurn
            && self.iterations < self.budget.iterations()
        {
            self.turns_used += 1;
            return vec![self.call(now)];
        }
        if calls.is_empty() && self.soft_stop {
            self.closing = Some(Closing::Stopped);
            let mut actions = vec![Action::Publish(stopped(StopMode::Soft))];
            actions.extend(self.finish_closing(&prose));
            return actions;
        }
        if calls.is_empty() {
            let answer = final_answer(prose, &turn.stop);
            return vec![Action::Finish(Ending { status: RunStatus::Completed, answer: Some(answer) })];
        }
        if calls.iter().any(|call| call.name != STATUS_TOOL) {
            self.turns_used += 1;
        }
        let mut actions = Vec::with_capacity(2);
        if !prose.is_empty() {
            actions.push(Action::Publish(EventBody::Assistant { text: prose }));
        }
        actions.push(Action::RunTools(calls));
        actions
    }

    fn tools_answered(&mut self, outcomes: Vec<ToolOutcome>, now: UnixMillis) -> Vec<Action> {
        let mut last_error = String::new();
        for outcome in &outcomes {
            if outcome.infra {
                self.infra_streak += 1;
                last_error = text_of(&outcome.content);
            } else {
                self.infra_streak = 0;
            }
        }
        let parts = outcomes.into_iter().map(|outcome| Part::ToolResult {
            call_id: outcome.call_id,
            ok: outcome.ok,
            content: outcome.content,
        });
        self.turns.push(Turn { role: Role::User, parts: parts.collect() });
        self.boundary(last_error, now)
    }

    /// Between two steps: the only place where a run changes course.
    fn boundary(&mut self, last_error: String, now: UnixMillis) -> Vec<Action> {
        if self.soft_stop {
            return self.close(Closing::Stopped);
        }
        if self.infra_streak >= INFRA_FAILURES {
            return self.close(Closing::SandboxDead { last_error });
        }
        let remaining = self.remaining_ms(now);
        if remaining == 0 {
            return self.close(Closing::Time);
        }
        if self.turns_used >= self.budget.turns || self.iterations >= self.budget.iterations() {
            return self.close(Closing::Turns);
        }
        let mut actions = Vec::with_capacity(2);
        if !self.warned && remaining <= self.budget.wrap_up_ms() {
            self.warned = true;
            let seconds = remaining / 1000;
            self.tell(format!(
                "Note from the service: {seconds} seconds of this run's time are left. Finish what matters and answer."
            ));
            actions.push(Action::Publish(EventBody::note(
                NoteKind::WrapUp,
                format!("{seconds} s left: the model was told to wrap up"),
            )));
        }
        actions.push(self.call(now));
        actions
    }

    /// One last call without tools, asking for what was found.
    fn close(&mut self, why: Closing) -> Vec<Action> {
        let (note, request) = match &why {
            Closing::Time => (
                EventBody::note(
                    NoteKind::TimeBudgetExhausted,
                    format!("the time budget of {} is used up", self.budget.minutes()),
                ),
                "The time for this run is used up.".to_owned(),
            ),
            Closing::Turns => (
                EventBody::note(
                    NoteKind::TurnBudgetExhausted,
                    format!("the budget of {} turns is used up", self.budget.turns),
                ),
                "The turns for this run are used up.".to_owned(),
            ),
            Closing::SandboxDead { last_error } => (
                EventBody::note(
                    NoteKind::SandboxDead,
                    format!("the workspace failed {INFRA_FAILURES} times in a row: {last_error}"),
                ),
                format!(
                    "The workspace stopped working. Its last error was: {last_error}. Do not guess at the cause."
                ),
            ),
            Closing::Stopped => (stopped(StopMode::Soft), "The requester asked to stop.".to_owned()),
        };
        self.tell(format!(
            "{request} No tool can be called any more. Answer now: what was found or done, and what is left open."
        ));
        self.closing = Some(why);
        vec![Action::Publish(note), Action::CallModel { may_call_tools: false, limit_ms: CLOSING_CALL_MS }]
    }

    fn finish_closing(&self, prose: &str) -> Vec<Action> {
        let words = if prose.is_empty() { NO_CLOSING_WORDS } else { prose };
        let (status, lead) = match &self.closing {
            Some(Closing::Time) => (
                RunStatus::Completed,
                format!("⚠️ The time budget of {} ended this run.", self.budget.minutes()),
            ),
            Some(Closing::Turns) => (
                RunStatus::Completed,
                format!("⚠️ The budget of {} turns ended this run.", self.budget.turns),
            ),
            Some(Closing::SandboxDead { .. }) => {
                (RunStatus::Completed, "⚠️ The workspace stopped working during this run.".to_owned())
            }
            Some(Closing::Stopped) | None => {
                (RunStatus::StoppedSoft, "⏹️ Stopped early on request.".to_owned())
            }
        };
        vec![Action::Finish(Ending { status, answer: Some(format!("{lead}\n\n{words}")) })]
    }

    /// Adds the service's own words to the conversation, within the last user turn when there is one.
    fn tell(&mut self, text: String) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => turn.parts.push(Part::text(text)),
            _ => self.turns.push(Turn::text(Role::User, text)),
        }
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

fn hard_stop() -> Vec<Action> {
    let note = stopped(StopMode::Hard);
    vec![Action::Publish(note), Action::Finish(Ending { status: RunStatus::StoppedHard, answer: None })]
}

/// Refusal and truncation are said plainly.
fn final_answer(prose: String, stop: &StopReason) -> String {
    let notice = match stop {
        StopReason::Refusal => Some("⚠️ The model declined to go on with this request."),
        StopReason::MaxTokens => Some("⚠️ The answer was cut at the model's output limit."),
        _ if prose.is_empty() => Some("The model ended the run without an answer."),
        _ => None,
    };
    match notice {
        Some(notice) if prose.is_empty() => notice.to_owned(),
        Some(notice) => format!("{prose}\n\n{notice}"),
        None => prose,
    }
}

fn prose(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<String>().trim().to_owned()
}

fn calls(parts: &[Part]) -> Vec<ToolCall> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, name, input, .. } => {
            Some(ToolCall { call_id: call_id.clone(), name: name.clone(), input: input.clone() })
        }
        _ => None,
    });
    calls.collect()
}

fn text_of(content: &[ToolContent]) -> String {
    let first = content.iter().find_map(|piece| match piece {
        ToolContent::Text { text } => text.lines().next(),
        _ => None,
    });
    first.unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "run_loop_tests.rs"]
mod tests;
