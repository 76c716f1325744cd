//! Drives a run: performs the loop's actions and feeds back the results.
//!
//! A step is stored before the calls run (`live::TrackedRun::step`). Between steps the run reads
//! the mailbox and can be handed off. Not here: the loop's decisions (`ars_agent`), and the run's
//! end (`lifecycle`).

use std::{panic::AssertUnwindSafe, time::Duration};

use ars_agent::{Action, Input, Loop, Steered, ToolCall, Turn, resume};
use ars_bot_ports::{Channel, ChannelEvent, Clock, texts};
use ars_bot_tools::{Effects, ToolOutput};
use ars_events::EventBody;
use ars_types::RunStatus;
use futures::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    answer_form,
    assignment::BoundModel,
    checkpoints::{CHECKPOINT_EVERY, save_tree},
    prepared::PreparedRun,
    recheck::Recheck,
    report::{DriverExit, DriverReport, ended},
    spans::Spans,
    tool_calls::Bounds,
    tool_events::PublishedCalls,
};
use crate::{
    attachments::{FileUse, attached, restore},
    live::{Step, StepDurability, Stepped, TrackedRun},
    registry::{RunHandle, Stops},
    threads::{FollowUp, Mailbox, Sender},
};

/// Everything that a run works with.
pub struct Driver<'a> {
    /// Publishes the run's events.
    pub run: &'a RunHandle,
    /// Publishes the run's spans.
    pub spans: &'a Spans,
    /// Span id for the whole agent run.
    pub root: String,
    /// Source of the current time.
    pub clock: &'a dyn Clock,
    /// The task and the limits.
    pub prepared: &'a PreparedRun,
    /// Queues the run's follow-ups.
    pub mailbox: &'a Mailbox,
    /// The run in the ledger, if the steps are stored.
    pub tracked: Option<&'a TrackedRun>,
    /// Fires when tracked runs are to be handed off.
    pub hand_off: &'a CancellationToken,
    /// May let the run go on behind the answer.
    pub recheck: Option<&'a dyn Recheck>,
    /// The answer must be in blocks.
    pub is_in_blocks: bool,
    /// Receives short progress messages.
    pub io: &'a dyn Channel,
    /// Removes secrets from text before it is capped.
    pub redactor: &'a ars_events::Redactor,
}

/// A run that another process started.
pub struct Resumption {
    /// The loop as stored.
    pub agent_loop: Loop,
    /// Where the driver begins.
    pub first: First,
    /// The current step's calls that the stream shows already.
    pub published: PublishedCalls,
    /// Whether the stream has a review's reading diff.
    pub has_reading_diff: bool,
}

/// A driver's first action.
pub enum First {
    /// Store the initial conversation, and call the model.
    Begin,
    /// Call the model first.
    CallModel,
    /// Settle the calls that were in flight.
    Settle(Vec<resume::Settlement>),
    /// Store a step with a lost record, and run the calls.
    RunStep(Vec<ToolCall>),
}

/// A run's state while it is driven.
pub(super) struct DriveState {
    pub(super) agent_loop: Loop,
    pub(super) stops: Stops,
    /// The current model: the run's own or the fallback.
    pub(super) model: BoundModel,
    soft_stop_fed: bool,
    taken: Vec<FollowUp>,
    tool_calls: u32,
    /// Steps with side effects since the last checkpoint.
    unsaved_steps: u32,
    published: PublishedCalls,
}

/// What a piece of work led to.
pub(super) enum Next {
    Feed(Input),
    HandOff,
}

impl Driver<'_> {
    /// Runs the agent on this conversation to the end.
    pub async fn run(&self, conversation: Vec<Turn>) -> DriverReport {
        let now = self.clock.now();
        let limits = self.prepared.full_limits();
        let agent_loop =
            Loop::new(self.prepared.spec.budget, conversation, now).with_limits(limits);
        self.catch_panic(
            self.state(agent_loop, PublishedCalls::default()),
            First::Begin,
        )
        .await
    }

    /// Resumes a run that another process started.
    pub async fn resume(&self, resumption: Resumption) -> DriverReport {
        let Resumption {
            agent_loop,
            first,
            published,
            ..
        } = resumption;
        self.catch_panic(self.state(agent_loop, published), first)
            .await
    }

    /// Drives the run, and turns a panic into a failed run. The requester still receives an answer,
    /// the record gets the cost, and unread follow-ups get their turn.
    async fn catch_panic(&self, mut state: DriveState, first: First) -> DriverReport {
        let exit = AssertUnwindSafe(self.run_to_completion(&mut state, first))
            .catch_unwind()
            .await;
        let exit = exit.unwrap_or_else(|_panic| {
            tracing::error!(run = %self.run.id(), "the run's driver panicked");
            ended(RunStatus::Failed, texts::INTERNAL_ERROR.to_owned())
        });
        self.report(state, exit)
    }

    async fn run_to_completion(&self, state: &mut DriveState, first: First) -> DriverExit {
        let next = match first {
            First::Begin => {
                // A failure is harmless because nothing was done yet, and the next step stores these turns too.
                self.store(state, &[], StepDurability::BestEffort).await;
                Next::Feed(Input::Start)
            }
            First::CallModel => Next::Feed(Input::Start),
            First::Settle(settlements) => Next::Feed(self.settle(state, &settlements).await),
            First::RunStep(calls) => self.work(state, calls).await,
        };
        let mut exit = match next {
            Next::Feed(input) => self.drive(state, input).await,
            Next::HandOff => return DriverExit::HandedOff,
        };
        exit = self.in_form(state, exit).await;
        while let (DriverExit::Ended(outcome), Some(recheck)) = (&exit, self.recheck) {
            let Some(text) = recheck.recheck(outcome).await else {
                break;
            };
            state.agent_loop.reopen(text);
            // A resume must know the text, or it would answer for another tree state.
            if self.store(state, &[], StepDurability::BestEffort).await != Stepped::Stored
                || !recheck.proceed().await
            {
                break;
            }
            exit = self.drive(state, Input::Start).await;
            exit = self.in_form(state, exit).await;
        }
        exit
    }

    /// Asks the model again until the answer is in blocks, where it must be.
    async fn in_form(&self, state: &mut DriveState, mut exit: DriverExit) -> DriverExit {
        while let DriverExit::Ended(outcome) = &exit
            && self.is_in_blocks
        {
            let Some(text) = answer_form::reask(outcome, state.agent_loop.turns()) else {
                break;
            };
            let before = outcome.clone();
            let rejected = outcome.answer.clone().unwrap_or_default();
            self.run.publish(EventBody::Assistant { text: rejected });
            state.agent_loop.reopen(text);
            self.store(state, &[], StepDurability::BestEffort).await;
            let after = self.drive(state, Input::Start).await;
            if answer_form::is_lost(&after) {
                return DriverExit::Ended(before);
            }
            exit = after;
        }
        exit
    }

    fn state(&self, agent_loop: Loop, published: PublishedCalls) -> DriveState {
        DriveState {
            agent_loop,
            stops: self.run.stops(),
            model: self.prepared.spec.model.clone(),
            soft_stop_fed: false,
            taken: Vec::new(),
            tool_calls: 0,
            unsaved_steps: 0,
            published,
        }
    }

    async fn drive(&self, state: &mut DriveState, mut input: Input) -> DriverExit {
        loop {
            if self.tracked.is_some_and(TrackedRun::is_fenced) {
                return DriverExit::Fenced;
            }
            if state.stops.hard.is_cancelled() {
                input = Input::HardStop;
            } else if state.stops.soft.is_cancelled() && !state.soft_stop_fed {
                state.soft_stop_fed = true;
                state.agent_loop.step(Input::SoftStop, self.clock.now());
            }
            self.read_mailbox(state).await;
            let (mut next, mut has_spoken) = (None, false);
            let actions = state.agent_loop.step(input, self.clock.now());
            self.report_read(state).await;
            for action in actions {
                match action {
                    Action::Publish(event) => {
                        has_spoken |= matches!(event, EventBody::Assistant { .. });
                        self.run.publish(event);
                    }
                    Action::Finish(ending) => return DriverExit::Ended(ending),
                    waits => next = Some(waits),
                }
            }
            let done = match next {
                Some(Action::CallModel { purpose, limit_ms }) => {
                    if has_spoken {
                        // An undelivered answer and the replacement are more turns than a single
                        // step adds. A resume needs a record of them.
                        self.store(state, &[], StepDurability::BestEffort).await;
                    }
                    self.call_model(state, purpose, limit_ms).await
                }
                Some(Action::RunTools(calls)) => self.work(state, calls).await,
                // The loop always names an action to wait for. If it did not, the run must not hang.
                _ => Next::Feed(Input::HardStop),
            };
            input = match done {
                Next::Feed(input) => input,
                Next::HandOff => return DriverExit::HandedOff,
            };
        }
    }

    fn report(&self, mut state: DriveState, mut exit: DriverExit) -> DriverReport {
        let raw_answer = match &mut exit {
            DriverExit::Ended(outcome) => answer_form::settle(outcome, self.is_in_blocks),
            DriverExit::HandedOff | DriverExit::Fenced => None,
        };
        // The model receives messages all at once, so those that it did not receive are the last.
        let unread = match exit {
            DriverExit::HandedOff => 0,
            DriverExit::Ended(_) | DriverExit::Fenced => state.agent_loop.unconsumed().len(),
        };
        let unread = state
            .taken
            .split_off(state.taken.len().saturating_sub(unread));
        DriverReport {
            exit,
            raw_answer,
            steps: state.agent_loop.steps(),
            cost: state.agent_loop.cost(),
            turns: state.agent_loop.turns().to_vec(),
            tools: state.agent_loop.tools(),
            tool_calls: state.tool_calls,
            unread,
        }
    }

    async fn read_mailbox(&self, state: &mut DriveState) {
        let follow_ups = self.mailbox.take();
        if follow_ups.is_empty() {
            return;
        }
        let mut used = FileUse::in_turns(state.agent_loop.turns());
        let unread = state.agent_loop.unconsumed();
        unread
            .iter()
            .for_each(|message| used.add(&message.attachments));
        let mut steered = Vec::with_capacity(follow_ups.len());
        for follow_up in &follow_ups {
            steered.push(self.steered(follow_up, &mut used, &state.stops).await);
        }
        state
            .agent_loop
            .step(Input::Steered(steered), self.clock.now());
        state.taken.extend(follow_ups);
    }

    /// Informs the senders of follow-ups that the model received. They are in the conversation
    /// then, with their files.
    async fn report_read(&self, state: &mut DriveState) {
        let unread = state.agent_loop.unconsumed().len();
        let read = state.taken.len().saturating_sub(unread);
        for follow_up in state.taken.drain(..read) {
            let Some(key) = follow_up.note.key else {
                continue;
            };
            let event = ChannelEvent::FollowUpRead(key);
            match &follow_up.sender {
                Some(sender) => sender.io.inform(event).await,
                // The run's channel finds the message that another process received.
                None => self.io.inform(event).await,
            }
        }
    }

    /// Returns a follow-up for the loop. The files of another process's are read again.
    async fn steered(&self, follow_up: &FollowUp, used: &mut FileUse, stops: &Stops) -> Steered {
        let FollowUp {
            note,
            inbox_seq,
            sender,
        } = follow_up;
        let mut text = note.text.clone();
        let (attachments, source) = match sender {
            Some(Sender { message, .. }) => (message.attachments.clone(), message.source.clone()),
            None => {
                let restored = restore(self.io, &mut text, &note.attachments);
                let restored = stops.hard.run_until_cancelled(restored).await;
                (restored.unwrap_or_default(), None)
            }
        };
        Steered {
            seq: *inbox_seq,
            text,
            attachments: used.parts(&attachments),
            files: attached(&attachments),
            source,
        }
    }

    /// Stores the loop's position. Without a ledger there is nothing to store.
    pub(super) async fn store(
        &self,
        state: &DriveState,
        calls: &[ToolCall],
        durability: StepDurability,
    ) -> Stepped {
        let Some(tracked) = self.tracked else {
            return Stepped::Stored;
        };
        let (seq, now) = (self.run.last_seq(), self.clock.now());
        let step = Step {
            agent_loop: &state.agent_loop,
            calls,
            seq,
            now,
        };
        tracked.step(&step, durability, &state.stops.hard).await
    }

    /// Stores the step, then runs the calls.
    async fn work(&self, state: &mut DriveState, calls: Vec<ToolCall>) -> Next {
        let durability = if calls.iter().all(|call| self.may_repeat(call)) {
            StepDurability::BestEffort
        } else {
            StepDurability::Required
        };
        let deadline = self.deadline(state);
        let stored = tokio::time::timeout_at(deadline, self.store(state, &calls, durability)).await;
        match stored {
            Ok(Stepped::Stored) => {}
            Ok(Stepped::NotStored) if durability == StepDurability::BestEffort => {}
            // The run's owner settles them.
            Ok(Stepped::Fenced) => {
                let outcomes = calls
                    .iter()
                    .map(|call| not_stored().into_outcome(&call.call_id));
                return Next::Feed(Input::Tools(outcomes.collect()));
            }
            // A resume must not repeat these calls, so they do not run. The loop then finds the time used up or the
            // stop.
            Ok(Stepped::NotStored) | Err(_) => {
                let published = std::mem::take(&mut state.published);
                let outcomes = calls
                    .iter()
                    .map(|call| self.skip_call(call, not_stored(), &published));
                return Next::Feed(Input::Tools(outcomes.collect()));
            }
        }
        if state.stops.hard.is_cancelled() {
            return Next::Feed(Input::HardStop);
        }
        let bounds = Bounds {
            deadline,
            hard_stop: &state.stops.hard,
        };
        let outcomes = self.run_tools(&calls, bounds, &state.published).await;
        state.published = PublishedCalls::default();
        state.tool_calls += u32::try_from(outcomes.len()).unwrap_or(u32::MAX);
        if durability == StepDurability::Required {
            self.save_tree_if_due(state).await;
        }
        Next::Feed(Input::Tools(outcomes))
    }

    /// Saves the working tree every few steps with side effects.
    async fn save_tree_if_due(&self, state: &mut DriveState) {
        state.unsaved_steps += 1;
        let workspace = self.prepared.workspace.as_deref();
        if let Some(workspace) = workspace.filter(|_| state.unsaved_steps >= CHECKPOINT_EVERY) {
            state.unsaved_steps = 0;
            save_tree(workspace, self.run).await;
        }
    }

    /// Returns when the run's time ends, on the timeouts' clock.
    fn deadline(&self, state: &DriveState) -> Instant {
        Instant::now() + millis(state.agent_loop.remaining_ms(self.clock.now()))
    }

    /// Returns whether a resume may run the call again (docs/reference/ledger.md#resume).
    fn may_repeat(&self, call: &ToolCall) -> bool {
        let is_reading = self
            .prepared
            .spec
            .tools
            .find(&call.name)
            .is_none_or(|tool| tool.effects() == Effects::None);
        is_reading || resume::RERUN_SAFE.contains(&call.name.as_str())
    }

    /// Settles the calls that were in flight when the previous process died.
    async fn settle(&self, state: &mut DriveState, settlements: &[resume::Settlement]) -> Input {
        self.run.publish(resume::resumed_note(settlements));
        let again: Vec<_> = settlements
            .iter()
            .filter(|settlement| settlement.how == resume::Settle::RunAgain)
            .map(|settlement| settlement.call.clone())
            .collect();
        let bounds = Bounds {
            deadline: self.deadline(state),
            hard_stop: &state.stops.hard,
        };
        let reran = self.run_tools(&again, bounds, &state.published).await;
        for settlement in settlements {
            if settlement.how != resume::Settle::RunAgain {
                let output = ToolOutput::from(settlement.synthetic());
                self.skip_call(&settlement.call, output, &state.published);
            }
        }
        state.published = PublishedCalls::default();
        Input::Tools(resume::outcomes(settlements, reran))
    }
}

/// Returns a skipped call's result, when the step could not be stored.
fn not_stored() -> ToolOutput {
    ToolOutput::refused("This call was not run: the run's state could not be stored before it.")
}

pub(super) fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
