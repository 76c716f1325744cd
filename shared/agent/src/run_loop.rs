//! The loop: `step(input, now) -> actions` (docs/reference/agents-and-tools.md#loop).
//!
//! The caller performs the actions in order and feeds back the results. The loop never waits.
//! Exactly one of
//! [`Action::CallModel`], [`Action::RunTools`], [`Action::Finish`] and [`Action::Wait`] ends every
//! action list, so the next input is always defined. No action follows a `Finish`.
//!
//! A run changes course only at a step boundary, between a turn's results and the next model call
//! ([`Loop::boundary`]). There it is closed, warned, compacted, or receives new messages.
//!
//! The state for a resume is stored before each `RunTools`: the new turns ([`Loop::turns_since`]),
//! then the loop's position ([`Loop::position`], [`Loop::saved`]).

mod answers;
mod closing;
mod compacting;
mod fit;
mod last_answer;
mod protocol;
mod saved;
mod spend;
mod steering;
mod words;

use std::collections::BTreeSet;

use ars_events::{EventBody, NoteKind};
use ars_types::UnixMillis;

use self::{
    compacting::Compacting,
    saved::{Infra, Spent},
    steering::{Arrived, Inbox},
};
pub use self::{
    protocol::{Action, Input, Purpose, RunOutcome, Sandbox, ToolCall, ToolOutcome},
    saved::{Limits, Position, Saved},
    steering::Steered,
};
use crate::{
    budget::Budget,
    context::Conversation,
    message::{Part, Turn, Usage},
};

/// Drives a single run, step by step.
#[derive(Debug, Clone)]
pub struct Loop {
    saved: Saved,
    conversation: Conversation,
    inbox: Inbox,
    deadline: UnixMillis,
    steps: u64,
    turns_used: u32,
    iterations: u32,
    /// Purpose of the last model call.
    purpose: Purpose,
    /// Token estimate for the last request.
    sent: u64,
    /// Number of consecutive calls that were too long for the model.
    too_long: u32,
    /// Number of consecutive calls that were rejected for a file.
    files_rejected: u32,
    compacting: Option<Compacting>,
    is_over: bool,
}

impl Loop {
    /// A run that starts at `now` with this conversation. The last turn is the request.
    pub fn new(budget: Budget, turns: Vec<Turn>, now: UnixMillis) -> Self {
        let conversation = Conversation::new(turns);
        let saved = Saved {
            budget,
            limits: Limits::default(),
            infra: Infra::default(),
            warned: false,
            soft_stop: false,
            closing: None,
            usage: Usage::default(),
            spent: Spent::default(),
            measure: None,
            summary_not_before: 0,
            shape: conversation.shape().clone(),
            steered: Vec::new(),
        };
        let begin = Position {
            step: 0,
            turn: 0,
            iteration: 0,
            turn_index: 0,
            inbox_consumed_seq: 0,
            remaining_ms: 0,
        };
        Self {
            deadline: budget.deadline(now),
            ..Self::at(saved, begin, conversation, now)
        }
    }

    /// Sets the run's limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.saved.limits = limits;
        self
    }

    /// Restores another process's run from the saved loop, last step position, and all stored
    /// turns.
    ///
    /// Without a call in flight it continues with [`Input::Start`], otherwise with the results as
    /// [`Input::Tools`]. When a step's record was lost (`resume::RunStep`), the decided record
    /// gives the position; the model call's cost is unknown and not counted. Feed messages from the
    /// durable inbox again as [`Input::Steered`].
    pub fn resume(mut saved: Saved, at: Position, turns: Vec<Turn>, now: UnixMillis) -> Self {
        let conversation = Conversation::restore(turns, saved.shape.clone());
        let inbox = Inbox::restore(at.inbox_consumed_seq, std::mem::take(&mut saved.steered));
        Self {
            inbox,
            ..Self::at(saved, at, conversation, now)
        }
    }

    fn at(saved: Saved, at: Position, conversation: Conversation, now: UnixMillis) -> Self {
        let counted = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            saved,
            conversation,
            inbox: Inbox::default(),
            deadline: now.saturating_add(i64::try_from(at.remaining_ms).unwrap_or(i64::MAX)),
            steps: at.step,
            turns_used: counted(at.turn),
            iterations: counted(at.iteration),
            purpose: Purpose::Answer,
            sent: 0,
            too_long: 0,
            files_rejected: 0,
            compacting: None,
            is_over: false,
        }
    }

    /// Continues a run that ended with an answer, with a text from the service. The next input is
    /// [`Input::Start`]. The budget and the limits continue too.
    pub fn reopen(&mut self, text: String) {
        self.is_over = false;
        self.conversation.add_user_parts(vec![Part::text(text)]);
    }

    /// Returns the names of the tools that the run called, including calls from earlier processes.
    pub fn tools(&self) -> BTreeSet<String> {
        self.conversation.tools()
    }

    /// Returns the conversation for the current call.
    pub fn turns(&self) -> &[Turn] {
        match &self.compacting {
            Some(compacting) => &compacting.turns,
            None => self.conversation.shown(),
        }
    }

    /// Returns the conversation's turns from this index on, which the next record must follow. A
    /// compaction drops turns before the last step. A caller that could not store those receives
    /// fewer than `Position::turn_index` implies, and the run can no longer be resumed.
    pub fn turns_since(&self, turn: u64) -> &[Turn] {
        self.conversation.since(turn)
    }

    /// Number of answered model calls, without summaries.
    pub fn steps(&self) -> u32 {
        self.iterations
    }

    /// Returns the loop's position.
    pub fn position(&self, now: UnixMillis) -> Position {
        Position {
            step: self.steps,
            turn: u64::from(self.turns_used),
            iteration: u64::from(self.iterations),
            turn_index: self.conversation.total(),
            inbox_consumed_seq: self.inbox.consumed(),
            remaining_ms: u64::try_from(self.remaining_ms(now)).unwrap_or(0),
        }
    }

    /// Returns the loop without the turns.
    pub fn saved(&self) -> Saved {
        let volatile = self
            .inbox
            .waiting()
            .iter()
            .filter(|message| message.seq.is_none());
        Saved {
            shape: self.conversation.shape().clone(),
            steered: volatile.map(Steered::without_content).collect(),
            ..self.saved.clone()
        }
    }

    /// Returns the last durable inbox message that the model received.
    pub fn inbox_consumed_seq(&self) -> u64 {
        self.inbox.consumed()
    }

    /// Messages that the model did not receive.
    pub fn unconsumed(&self) -> &[Steered] {
        self.inbox.waiting()
    }

    /// Returns the milliseconds left in the time budget, never negative.
    pub fn remaining_ms(&self, now: UnixMillis) -> i64 {
        self.deadline.saturating_sub(now).max(0)
    }

    /// Advances the loop by a single input.
    pub fn step(&mut self, input: Input, now: UnixMillis) -> Vec<Action> {
        match input {
            Input::Steered(messages) => {
                self.inbox.take(messages);
                vec![Action::Wait]
            }
            _ if self.is_over => vec![Action::Wait],
            Input::Start => match self.saved.closing.clone() {
                Some(why) => self.close_again(&why),
                None => self.boundary(now),
            },
            Input::SoftStop => {
                self.saved.soft_stop = true;
                vec![Action::Wait]
            }
            Input::HardStop => self.hard_stop(),
            Input::ModelFailed(reason) => self.model_failed(Some(reason), now),
            Input::ModelTimedOut => self.model_failed(None, now),
            Input::ContextTooLong(reason) => self.too_long(reason, now),
            Input::FileRejected(reason) => self.file_rejected(reason, now),
            Input::Model(turn) => self.model_answered(turn, now),
            Input::Tools(outcomes) => self.tools_answered(outcomes, now),
        }
    }

    /// The boundary between two steps, where alone a run changes course.
    fn boundary(&mut self, now: UnixMillis) -> Vec<Action> {
        if self.is_unpriced() {
            return self.finish_unpriced();
        }
        match self.must_close(now) {
            Some(why) => self.close(why),
            None => self.start_step(Arrived::WhileWorking, now),
        }
    }

    /// Starts the next step, with the messages that precede it.
    fn start_step(&mut self, arrived: Arrived, now: UnixMillis) -> Vec<Action> {
        let mut actions = Vec::new();
        let remaining = self.remaining_ms(now);
        if let Some((events, parts)) = self.inbox.hand_over(arrived) {
            actions.extend(events.into_iter().map(Action::Publish));
            self.conversation.add_user_parts(parts);
        }
        if !self.saved.warned && remaining <= self.saved.budget.wrap_up_ms() {
            self.saved.warned = true;
            let seconds = remaining / 1000;
            self.conversation.add_user_parts(vec![Part::text(format!(
                "Note from the service: {seconds} seconds of this run's time are left. Finish what matters and answer."
            ))]);
            let summary = format!("{seconds} s left: the model was asked to wrap up");
            actions.push(Action::Publish(EventBody::note(NoteKind::WrapUp, summary)));
        }
        actions.extend(self.ask(now));
        actions
    }
}
