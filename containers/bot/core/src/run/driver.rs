//! The driver of one run: it performs the loop's actions and feeds back what came of them.
//!
//! Before the calls of a step run, the step is stored (`live::Tracked::step`); between steps the run reads its mailbox
//! and can be left to another process. Not here: what the loop decides (`ars_agent`), and what follows the run's end
//! (`conclude`).

use std::{panic::AssertUnwindSafe, time::Duration};

use ars_agent::{Action, Ending, Input, Loop, Steered, ToolCall, Turn, resume};
use ars_bot_ports::{ChannelIo, Clock};
use ars_bot_tools::{Effects, ToolOutput};
use ars_events::EventBody;
use ars_types::RunStatus;
use futures::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    assignment::{Assignment, Voice},
    spans::Spans,
    telling::Told,
    tool_calls::Bounds,
};
use crate::{
    live::{Step, Stepped, Tracked},
    registry::{RunHandle, Stops},
    threads::{FollowUp, Mailbox},
};

/// Everything one run works with.
pub struct Driver<'a> {
    /// Where it publishes.
    pub run: &'a RunHandle,
    /// Its spans.
    pub spans: &'a Spans,
    /// The span of the whole agent run.
    pub root: String,
    /// Time.
    pub clock: &'a dyn Clock,
    /// What it is to do.
    pub assignment: &'a Assignment,
    /// Where its follow-ups wait.
    pub mailbox: &'a Mailbox,
    /// The run in the ledger, if it is there.
    pub tracked: Option<&'a Tracked>,
    /// Fires when a tracked run is to be left to another process.
    pub hand_off: &'a CancellationToken,
    /// Where short words on progress go.
    pub io: &'a dyn ChannelIo,
    /// Cleans what the run says before it is capped.
    pub redactor: &'a ars_events::Redactor,
}

/// What a driven run leaves.
pub struct Driven {
    /// How it ended here.
    pub outcome: Outcome,
    /// Model calls answered.
    pub steps: u32,
    /// What it cost, in millionths of a dollar; none when a call was made whose price is not known.
    pub cost: Option<u64>,
    /// The conversation, as far as the model was last shown it.
    pub turns: Vec<Turn>,
    /// Calls of tools here.
    pub tool_calls: u32,
    /// Follow-ups that were taken and not read.
    pub unread: Vec<FollowUp>,
}

/// How a run ended here.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is over.
    Ended(Ending),
    /// It is stored, and another process goes on with it.
    HandedOff,
    /// Another process has it.
    Lost,
}

/// A run that another process began.
pub struct Resumption {
    /// Its loop, as it was stored.
    pub agent_loop: Loop,
    /// What comes first.
    pub first: First,
    /// What the stream tells of the step's calls already.
    pub told: Told,
    /// The stream has the diff that people read beside a review.
    pub has_reading_diff: bool,
}

/// What a run does first.
pub enum First {
    /// It stores the conversation that it begins with, and calls the model.
    Begin,
    /// It calls the model.
    CallModel,
    /// It settles the calls that were under way.
    Settle(Vec<resume::Settlement>),
    /// It stores a step whose record was lost, and runs its calls.
    RunStep(Vec<ToolCall>),
}

/// What is known of the run while it is driven.
pub(super) struct Course {
    pub(super) agent_loop: Loop,
    pub(super) stops: Stops,
    /// The model that is asked now.
    pub(super) voice: Voice,
    soft_stop_told: bool,
    taken: Vec<FollowUp>,
    tool_calls: u32,
    told: Told,
}

/// What came of one piece of work.
pub(super) enum Next {
    Feed(Input),
    HandOff,
}

impl Driver<'_> {
    /// Runs the agent on this conversation to its end.
    pub async fn run(&self, conversation: Vec<Turn>) -> Driven {
        let now = self.clock.now();
        let limits = self.assignment.full_limits();
        let agent_loop = Loop::new(self.assignment.budget, conversation, now).with_limits(limits);
        self.caught(self.course(agent_loop, Told::default()), First::Begin).await
    }

    /// Goes on with a run that another process began.
    pub async fn go_on(&self, resumption: Resumption) -> Driven {
        let Resumption { agent_loop, first, told, .. } = resumption;
        self.caught(self.course(agent_loop, told), first).await
    }

    /// A panic is a bug of ours: the requester still gets an answer, the run its record with what it cost, and whoever
    /// it had taken follow-ups from their turn.
    async fn caught(&self, mut course: Course, first: First) -> Driven {
        let outcome = AssertUnwindSafe(self.to_its_end(&mut course, first)).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|_panic| {
            tracing::error!(run = %self.run.id(), "the run's driver panicked");
            failed(INTERNAL_ERROR.to_owned())
        });
        self.driven(course, outcome)
    }

    async fn to_its_end(&self, course: &mut Course, first: First) -> Outcome {
        let next = match first {
            First::Begin => {
                // Not yet resumable is no harm: nothing has been done. The next step stores this one's turns too.
                self.store(course, &[], false).await;
                Next::Feed(Input::Start)
            }
            First::CallModel => Next::Feed(Input::Start),
            First::Settle(settlements) => Next::Feed(self.settle(course, &settlements).await),
            First::RunStep(calls) => self.work(course, calls).await,
        };
        match next {
            Next::Feed(input) => self.drive(course, input).await,
            Next::HandOff => Outcome::HandedOff,
        }
    }

    fn course(&self, agent_loop: Loop, told: Told) -> Course {
        Course {
            agent_loop,
            stops: self.run.stops(),
            voice: self.assignment.model.clone(),
            soft_stop_told: false,
            taken: Vec::new(),
            tool_calls: 0,
            told,
        }
    }

    async fn drive(&self, course: &mut Course, mut input: Input) -> Outcome {
        loop {
            if self.tracked.is_some_and(Tracked::is_lost) {
                return Outcome::Lost;
            }
            if course.stops.hard.is_cancelled() {
                input = Input::HardStop;
            } else if course.stops.soft.is_cancelled() && !course.soft_stop_told {
                course.soft_stop_told = true;
                course.agent_loop.step(Input::SoftStop, self.clock.now());
            }
            self.read_mailbox(course);
            let (mut next, mut has_spoken) = (None, false);
            for action in course.agent_loop.step(input, self.clock.now()) {
                match action {
                    Action::Publish(event) => {
                        has_spoken |= matches!(event, EventBody::Assistant { .. });
                        self.run.publish(event);
                    }
                    Action::Finish(ending) => return Outcome::Ended(ending),
                    waits => next = Some(waits),
                }
            }
            let done = match next {
                Some(Action::CallModel { purpose, limit_ms }) => {
                    if has_spoken {
                        // An answer that was not delivered, and what took its place: more turns than a step adds, which
                        // a resume would not know what to make of without a record.
                        self.store(course, &[], false).await;
                    }
                    self.call_model(course, purpose, limit_ms).await
                }
                Some(Action::RunTools(calls)) => self.work(course, calls).await,
                // The loop always says what to wait for; were it not to, the run must not hang.
                _ => Next::Feed(Input::HardStop),
            };
            input = match done {
                Next::Feed(input) => input,
                Next::HandOff => return Outcome::HandedOff,
            };
        }
    }

    fn driven(&self, mut course: Course, outcome: Outcome) -> Driven {
        // Messages are handed to the model all at once, so those that were not are the last ones.
        let unread = course.agent_loop.unconsumed().len().min(course.taken.len());
        let unread = course.taken.split_off(course.taken.len() - unread);
        let cost = course.agent_loop.cost();
        let (turns, tool_calls) = (course.agent_loop.turns().to_vec(), course.tool_calls);
        Driven { outcome, steps: course.agent_loop.steps(), cost, turns, tool_calls, unread }
    }

    fn read_mailbox(&self, course: &mut Course) {
        let follow_ups = self.mailbox.take();
        if follow_ups.is_empty() {
            return;
        }
        let steered = follow_ups.iter().map(|follow_up| Steered {
            seq: follow_up.inbox_seq,
            text: follow_up.note.text.clone(),
            attachments: Vec::new(),
            source: follow_up.sender.as_ref().and_then(|sender| sender.message.source.clone()),
        });
        course.agent_loop.step(Input::Steered(steered.collect()), self.clock.now());
        course.taken.extend(follow_ups);
    }

    /// Stores where the loop stands; without a ledger there is nobody to store for.
    pub(super) async fn store(&self, course: &Course, calls: &[ToolCall], must: bool) -> Stepped {
        let Some(tracked) = self.tracked else { return Stepped::Stored };
        let (seq, now) = (self.run.last_seq(), self.clock.now());
        let step = Step { agent_loop: &course.agent_loop, calls, seq, now };
        tracked.step(&step, must, &course.stops.hard).await
    }

    /// Stores the step, then runs its calls.
    async fn work(&self, course: &mut Course, calls: Vec<ToolCall>) -> Next {
        let must = calls.iter().any(|call| !self.may_repeat(call));
        let deadline = self.deadline(course);
        let stored = tokio::time::timeout_at(deadline, self.store(course, &calls, must)).await;
        match stored {
            Ok(Stepped::Stored) => {}
            Ok(Stepped::NotStored) if !must => {}
            // Another process has the run, and settles them.
            Ok(Stepped::Lost) => {
                let outcomes = calls.iter().map(|call| not_stored().into_outcome(&call.call_id));
                return Next::Feed(Input::Tools(outcomes.collect()));
            }
            // Nothing may run that a resume could repeat unawares. The loop finds the time used up or the stop.
            Ok(Stepped::NotStored) | Err(_) => {
                let told = std::mem::take(&mut course.told);
                let outcomes = calls.iter().map(|call| self.leave_out(call, not_stored(), &told));
                return Next::Feed(Input::Tools(outcomes.collect()));
            }
        }
        if course.stops.hard.is_cancelled() {
            return Next::Feed(Input::HardStop);
        }
        let bounds = Bounds { deadline, hard_stop: &course.stops.hard };
        let outcomes = self.run_tools(&calls, bounds, &course.told).await;
        course.told = Told::default();
        course.tool_calls += u32::try_from(outcomes.len()).unwrap_or(u32::MAX);
        Next::Feed(Input::Tools(outcomes))
    }

    /// When the run's time is used up, on the clock that waits go by.
    fn deadline(&self, course: &Course) -> Instant {
        Instant::now() + millis(course.agent_loop.remaining_ms(self.clock.now()))
    }

    /// Whether a resume may run the call again (state-worker supplement section 10.3).
    fn may_repeat(&self, call: &ToolCall) -> bool {
        let is_reading =
            self.assignment.tools.find(&call.name).is_none_or(|tool| tool.effects() == Effects::None);
        is_reading || resume::RERUN_SAFE.contains(&call.name.as_str())
    }

    /// The results of calls that were under way when the process died.
    async fn settle(&self, course: &mut Course, settlements: &[resume::Settlement]) -> Input {
        self.run.publish(resume::resumed_note(settlements));
        let again: Vec<_> = settlements
            .iter()
            .filter(|settlement| settlement.how == resume::Settle::RunAgain)
            .map(|settlement| settlement.call.clone())
            .collect();
        let bounds = Bounds { deadline: self.deadline(course), hard_stop: &course.stops.hard };
        let reran = self.run_tools(&again, bounds, &course.told).await;
        for settlement in settlements {
            if settlement.how != resume::Settle::RunAgain {
                let output = ToolOutput::from(settlement.synthetic());
                self.leave_out(&settlement.call, output, &course.told);
            }
        }
        course.told = Told::default();
        Input::Tools(resume::outcomes(settlements, reran))
    }
}

/// Said of a call that was left out because its step could not be stored.
fn not_stored() -> ToolOutput {
    ToolOutput::refused("This call was not run: the run's state could not be stored before it.")
}

/// Said of a run that ended by a bug of ours.
pub const INTERNAL_ERROR: &str = "❌ The run failed because of an internal error.";

/// How a run is reported that ended before its first model call.
pub fn not_begun(answer: String) -> Driven {
    let (outcome, turns, unread) = (failed(answer), Vec::new(), Vec::new());
    Driven { outcome, steps: 0, cost: Some(0), turns, tool_calls: 0, unread }
}

fn failed(answer: String) -> Outcome {
    Outcome::Ended(Ending { status: RunStatus::Failed, cut_short: true, answer: Some(answer) })
}

pub(super) fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
