//! The loop: `step(input, now) -> actions` (bot supplement sections 13 and 14).
//!
//! The caller performs the actions in order and feeds back what came of them; the loop never waits. Exactly one
//! of [`Action::CallModel`], [`Action::RunTools`], [`Action::Finish`] and [`Action::Wait`] ends every list of actions,
//! so the caller always knows what to wait for. Nothing follows a `Finish`.
//!
//! A run changes course only at a step boundary, between the results of a turn and the next call of the model
//! ([`Loop::boundary`]): there it is closed, warned, handed new messages, compacted.
//!
//! What a resume needs is stored before each `RunTools`: the turns since the last time ([`Loop::turns_since`]), then
//! where the loop stands ([`Loop::position`], [`Loop::saved`]).

mod answers;
mod closing;
mod fit;
mod protocol;
mod saved;
mod spend;
mod steering;
mod words;

use ars_events::{EventBody, NoteKind};
use ars_types::UnixMillis;

use self::{
    fit::Compacting,
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

/// Infrastructure failures in a row, without a success between, that end the run.
const INFRA_FAILURES: u32 = 2;

/// One run's loop.
#[derive(Debug, Clone)]
pub struct Loop {
    saved: Saved,
    conversation: Conversation,
    inbox: Inbox,
    deadline: UnixMillis,
    steps: u64,
    turns_used: u32,
    iterations: u32,
    /// What the model was last asked for.
    purpose: Purpose,
    /// The estimate of what was last sent.
    sent: u64,
    /// How often in a row the model called the conversation too long.
    too_long: u32,
    compacting: Option<Compacting>,
    is_over: bool,
}

impl Loop {
    /// A run that begins at `now` with this conversation, whose last turn is the request.
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
        Self { deadline: budget.deadline(now), ..Self::at(saved, begin, conversation, now) }
    }

    /// The same, within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.saved.limits = limits;
        self
    }

    /// A run that another process began: what it saved with its last step, where that step stood, and all turns stored.
    ///
    /// With no call in flight it goes on with [`Input::Start`], else with the results as [`Input::Tools`]. Of a step
    /// whose record was lost (`resume::RunStep`) the record decided on gives the position; what its model call cost is
    /// not known and not counted. Messages of the durable inbox are fed again as [`Input::Steered`].
    pub fn resume(mut saved: Saved, at: Position, turns: Vec<Turn>, now: UnixMillis) -> Self {
        let conversation = Conversation::restore(turns, saved.shape.clone());
        let inbox = Inbox::restore(at.inbox_consumed_seq, std::mem::take(&mut saved.steered));
        Self { inbox, ..Self::at(saved, at, conversation, now) }
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
            compacting: None,
            is_over: false,
        }
    }

    /// The conversation to send with the call asked for.
    pub fn turns(&self) -> &[Turn] {
        match &self.compacting {
            Some(compacting) => &compacting.turns,
            None => self.conversation.shown(),
        }
    }

    /// The turns of the whole conversation from this one on (`Position::turn_index` of the last record): what is to be
    /// stored with the next. Turns of steps before the last are not kept once the conversation was compacted: a caller
    /// that could not store those has fewer here than `Position::turn_index` tells, and cannot be resumed any more.
    pub fn turns_since(&self, turn: u64) -> &[Turn] {
        self.conversation.since(turn)
    }

    /// Model calls answered so far; summaries are not counted.
    pub fn steps(&self) -> u32 {
        self.iterations
    }

    /// Where the loop stands.
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

    /// The loop without its turns.
    pub fn saved(&self) -> Saved {
        let volatile = self.inbox.waiting().iter().filter(|message| message.seq.is_none());
        Saved {
            shape: self.conversation.shape().clone(),
            steered: volatile.cloned().collect(),
            ..self.saved.clone()
        }
    }

    /// The last message of the durable inbox that was handed to the model.
    pub fn inbox_consumed_seq(&self) -> u64 {
        self.inbox.consumed()
    }

    /// Messages that were not handed to the model; after the end, those that nobody has read.
    pub fn unconsumed(&self) -> &[Steered] {
        self.inbox.waiting()
    }

    /// Milliseconds left of the time budget; never negative.
    pub fn remaining_ms(&self, now: UnixMillis) -> i64 {
        self.deadline.saturating_sub(now).max(0)
    }

    /// Takes what happened and says what to do.
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
            Input::Model(turn) => self.model_answered(turn, now),
            Input::Tools(outcomes) => self.tools_answered(outcomes, now),
        }
    }

    /// Between two steps: the only place where a run changes course.
    fn boundary(&mut self, now: UnixMillis) -> Vec<Action> {
        if self.is_unpriced() {
            return self.finish_unpriced();
        }
        match self.must_close(now) {
            Some(why) => self.close(why),
            None => self.go_on(Arrived::WhileWorking, now),
        }
    }

    /// The next step, with what the model must know before it.
    fn go_on(&mut self, arrived: Arrived, now: UnixMillis) -> Vec<Action> {
        let mut actions = Vec::new();
        let remaining = self.remaining_ms(now);
        if let Some((events, parts)) = self.inbox.hand_over(arrived) {
            actions.extend(events.into_iter().map(Action::Publish));
            self.conversation.tell(parts);
        }
        if !self.saved.warned && remaining <= self.saved.budget.wrap_up_ms() {
            self.saved.warned = true;
            let seconds = remaining / 1000;
            self.conversation.tell(vec![Part::text(format!(
                "Note from the service: {seconds} seconds of this run's time are left. Finish what matters and answer."
            ))]);
            let summary = format!("{seconds} s left: the model was told to wrap up");
            actions.push(Action::Publish(EventBody::note(NoteKind::WrapUp, summary)));
        }
        actions.extend(self.ask(now));
        actions
    }
}
