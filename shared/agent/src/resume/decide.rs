//! Decides whether a reclaimed run resumes or closes (docs/reference/ledger.md#resume).
//!
//! Not here: whether the agent, channel and thread still exist. The caller checks those, and closes
//! a run as interrupted without them.

use ars_types::{RunStatus, StopMode};
use ars_wire::{
    ledger::{Call, Phase, Reclaimed, StepRecord},
    transcript::Transcript,
};

use super::{
    assemble::{Assembled, assemble},
    attempts::Attempts,
    run_state::RunState,
    settlement::Settlement,
};
use crate::{Effects, Part, Role, ToolCall, Turn, error::Reason};

/// The tool that uses up no turn in a step without other calls.
const STATUS_TOOL: &str = "update_status";
/// Turns per step: the previous step's results, and the answer with the next calls.
const TURNS_OF_A_STEP: u64 = 2;

/// The decision on a reclaimed run.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Write a record with this status, without a reply.
    Close {
        /// The status that the run ended with.
        status: RunStatus,
        /// The reason, for the log.
        reason: Reason,
    },
    /// Resume at the last record.
    Resume(Resume),
    /// Run the calls of the next step, which is stored without the record, so no call ran.
    RunStep(RunStep),
}

/// Where a run resumes. Store `attempts` in the state before anything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// The conversation to resume from.
    pub turns: Vec<Turn>,
    /// The settled calls in flight. Their results are the next user turn. With none, the model is called.
    pub settle: Vec<Settlement>,
    /// The loop's position: step, iteration, turn, time left, and the last consumed follow-up.
    pub record: StepRecord,
    /// The count including this attempt.
    pub attempts: Attempts,
}

/// The step at which a run resumes.
/// Store `attempts` in the state, then `record`, and only then run the calls.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStep {
    /// The conversation to resume from.
    pub turns: Vec<Turn>,
    /// The last turn's calls, which did not run.
    pub calls: Vec<ToolCall>,
    /// The lost record. The conversation contains the follow-ups up to its `inbox_consumed_seq`, so
    /// only later follow-ups in the reclaimed inbox count.
    pub record: StepRecord,
    /// The count including this attempt.
    pub attempts: Attempts,
}

/// Decides on a reclaimed run with the transcript. `effects` returns a tool's effects in this
/// process, and `None` for an unknown or bridged tool.
pub fn decide(
    run: &Reclaimed,
    transcript: Transcript,
    effects: impl Fn(&str) -> Option<Effects>,
) -> Decision {
    if run.reclaimed_from == Phase::Finishing {
        let status = RunState::of_row(&run.row.state)
            .final_status()
            .unwrap_or(RunStatus::Completed);
        return Decision::Close {
            status,
            reason: Reason::Ended,
        };
    }
    match try_resume(run, transcript, effects) {
        Ok(decision) => decision,
        Err(reason) => Decision::Close {
            status: closed_as(&reason),
            reason,
        },
    }
}

/// Whether the decision depends on the run's transcript.
pub fn needs_transcript(run: &Reclaimed) -> bool {
    run.reclaimed_from != Phase::Finishing && run.last_step.is_some() && refuse_by_row(run).is_ok()
}

fn try_resume(
    run: &Reclaimed,
    transcript: Transcript,
    effects: impl Fn(&str) -> Option<Effects>,
) -> Result<Decision, Reason> {
    refuse_by_row(run)?;
    let record = run.last_step.as_ref().ok_or(Reason::NoStepRecord)?;
    let Assembled {
        turns,
        gap,
        inbox_consumed,
    } = assemble(transcript);
    if let Some(gap) = gap {
        return Err(Reason::Gap(gap));
    }
    let before = RunState::of_row(&run.row.state).attempts;
    let attempts = Attempts::after(before, record.step, run.reclaimed_from);
    let (stored, recorded) = (turns.len() as u64, record.turn_index);
    let decision = match stored {
        0 => return Err(Reason::NoTurns),
        _ if stored == recorded => {
            let settle = settle(&turns, &record.in_flight, effects)?;
            Decision::Resume(Resume {
                turns,
                settle,
                record: record.clone(),
                attempts,
            })
        }
        _ if stored == recorded.saturating_add(TURNS_OF_A_STEP) => {
            let calls = last_calls(&turns)
                .filter(|calls| !calls.is_empty())
                .ok_or(Reason::NothingToRun)?;
            let record = lost_record(record, stored, &calls, inbox_consumed);
            Decision::RunStep(RunStep {
                turns,
                calls,
                record,
                attempts,
            })
        }
        _ => return Err(Reason::Turns { stored, recorded }),
    };
    if attempts.is_too_many() {
        return Err(Reason::NoProgress {
            step: attempts.step,
        });
    }
    Ok(decision)
}

/// Refuses a run that cannot resume according to the row alone.
fn refuse_by_row(run: &Reclaimed) -> Result<(), Reason> {
    let state = RunState::of_row(&run.row.state);
    // A process that reclaimed the run from `finishing` and died before closing it leaves it
    // `live`, with the status.
    if state.has_ended() {
        return Err(Reason::MaybeReplied);
    }
    if run.row.stop == Some(StopMode::Hard) {
        return Err(Reason::Stopped);
    }
    if system_in(&state, run).is_empty() {
        return Err(Reason::NoSpecification);
    }
    if state.unresumable.is_some() {
        return Err(Reason::Unresumable);
    }
    Ok(())
}

/// Returns the system prompt for every model call; empty when the process died before it was known.
pub fn system_of(run: &Reclaimed) -> String {
    system_in(&RunState::of_row(&run.row.state), run).to_owned()
}

fn system_in<'a>(state: &'a RunState, run: &'a Reclaimed) -> &'a str {
    state.system.as_deref().unwrap_or(&run.row.system)
}

fn closed_as(reason: &Reason) -> RunStatus {
    if *reason == Reason::Stopped {
        RunStatus::StoppedHard
    } else {
        RunStatus::Interrupted
    }
}

/// Settles the calls in flight, which must match the last turn's calls. Without any, the last turn
/// must be the user's.
fn settle(
    turns: &[Turn],
    in_flight: &[Call],
    effects: impl Fn(&str) -> Option<Effects>,
) -> Result<Vec<Settlement>, Reason> {
    if in_flight.is_empty() {
        let ends_on_user = turns.last().is_some_and(|turn| turn.role == Role::User);
        return if ends_on_user {
            Ok(Vec::new())
        } else {
            Err(Reason::NothingToAnswer)
        };
    }
    let calls = last_calls(turns).ok_or(Reason::Calls)?;
    let mut made: Vec<_> = calls.iter().map(|call| call.call_id.as_str()).collect();
    let mut recorded: Vec<_> = in_flight.iter().map(|call| call.call_id.as_str()).collect();
    made.sort_unstable();
    recorded.sort_unstable();
    if made != recorded {
        return Err(Reason::Calls);
    }
    let settled = calls.into_iter().map(|call| {
        let effects = effects(&call.name);
        Settlement::new(call, effects)
    });
    Ok(settled.collect())
}

/// Returns the last turn's calls, if the model spoke it.
fn last_calls(turns: &[Turn]) -> Option<Vec<ToolCall>> {
    let turn = turns.last().filter(|turn| turn.role == Role::Assistant)?;
    let calls = turn.parts.iter().filter_map(|part| match part {
        Part::ToolCall {
            call_id,
            name,
            input,
            ..
        } => Some(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            input: input.clone(),
        }),
        Part::Text { .. }
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::ToolResult { .. }
        | Part::Opaque { .. } => None,
    });
    Some(calls.collect())
}

fn lost_record(
    before: &StepRecord,
    stored: u64,
    calls: &[ToolCall],
    inbox_consumed: u64,
) -> StepRecord {
    let is_status_only = calls.iter().all(|call| call.name == STATUS_TOOL);
    let in_flight = calls
        .iter()
        .map(|call| Call {
            call_id: call.call_id.clone(),
            tool: call.name.clone(),
        })
        .collect();
    StepRecord {
        step: before.step + 1,
        turn_index: stored,
        in_flight,
        inbox_consumed_seq: before.inbox_consumed_seq.max(inbox_consumed),
        turn: before.turn + u64::from(!is_status_only),
        iteration: before.iteration + 1,
        ..before.clone()
    }
}
