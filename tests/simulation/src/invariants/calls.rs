//! The promise about the calls of tools in a run's stream: each is told once, and so is its result (bot supplement
//! section 9).
//!
//! Ids may repeat from step to step, so events are counted, not told apart. Not here: the other events (`events`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Found, events};
use crate::{
    evidence::{Evidence, RunSeen, StepSeen},
    story::Story,
};

/// Events of which a run has one for each call of a tool.
const ONE_FOR_EACH_CALL: [&str; 2] = ["tool_call", "tool_result"];

pub(super) fn a_call_is_told_once_and_so_is_its_result(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(record) = &run.record else { return };
    let (events, least) = (events(record), surely_told(run));
    let are_all_stored = evidence.failed_requests == 0 && !run.asked.is_empty();
    for kind in ONE_FOR_EACH_CALL {
        let mut told = BTreeMap::<_, usize>::new();
        for event in events.iter().filter(|event| event["type"] == kind) {
            *told.entry(event["callId"].as_str().unwrap_or_default()).or_default() += 1;
        }
        let again: BTreeSet<_> = match are_all_stored {
            true => {
                told.iter().filter(|(call, count)| **count > made(run, call)).map(|(call, _)| *call).collect()
            }
            false => told_again(events, kind, evidence.story),
        };
        found.unless(again.is_empty(), "a call of a tool is told once, and so is its result", || {
            format!("{id}: {kind} again of {again:?}")
        });
        for (call, least) in &least {
            let count = told.get(call).copied().unwrap_or_default();
            found.unless(count >= *least, "no call of a tool is left out, and no result", || {
                format!("{id}: {kind} of {call} {count} times, made {least} times")
            });
        }
    }
}

/// How often a call was made: once in each turn of the conversation that has it, whoever asked for that turn.
fn made(run: &RunSeen, call: &str) -> usize {
    let turns = run.asked.iter().filter(|(_, calls)| calls.iter().any(|made| made == call));
    turns.map(|((turn, _), _)| turn).collect::<BTreeSet<_>>().len()
}

/// Of turns that the stores would not take nobody knows how many there were. A process that goes on asks the model for
/// them once more, which here gives the calls the same ids.
fn told_again<'a>(events: &'a [Value], kind: &str, story: Story) -> BTreeSet<&'a str> {
    let repeats_ids = story == Story::Reviewed;
    let (mut told, mut again) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let is_asked = event["type"] == "span_start" && event["name"] == "model.turn";
        if event["kind"] == "resumed" || (repeats_ids && is_asked) {
            told.clear();
        }
        let call = event["callId"].as_str().unwrap_or_default();
        if event["type"] == kind && !told.insert(call) {
            again.insert(call);
        }
    }
    again
}

/// How often each call must be in the record. What a process told last dies with it, so only those steps count of which
/// everything is in the ledger: the process that made the next one asked for it itself, and brought all before it.
fn surely_told(run: &RunSeen) -> BTreeMap<&str, usize> {
    let mut told = BTreeMap::new();
    for (number, step) in &run.stored {
        let Some(next) = run.stored.get(&(number + 1)) else { continue };
        if has_told_all_before(run, next) {
            step.calls.iter().for_each(|call| *told.entry(call.as_str()).or_default() += 1);
        }
    }
    told
}

fn has_told_all_before(run: &RunSeen, step: &StepSeen) -> bool {
    let process = &step.process;
    let claimed = run.claimed.as_ref().map(|(_, by)| by);
    // What it asked before it lost the run and took it again is not told from what it asked since.
    let has_come_back = claimed.into_iter().chain(&run.takers).filter(|had| *had == process).count() > 1;
    let has_asked = !has_come_back && last_asked(run, step).is_some_and(|by| by.contains(&process.as_str()));
    let has_finished = run.finished.as_ref().is_some_and(|(_, by)| by == process);
    has_asked && (has_finished || run.flushed.get(process).is_some_and(|last| *last >= step.seq))
}

/// The processes that asked the model for the last turn with calls that a step holds. That turn is not the last of a
/// step that a run was left at: behind it are the results, which also a process stores that was not the one to ask.
fn last_asked<'a>(run: &'a RunSeen, step: &StepSeen) -> Option<Vec<&'a str>> {
    let with_calls = run.asked.iter().filter(|((turn, _), calls)| *turn < step.turns && !calls.is_empty());
    let (last, _) = with_calls.clone().map(|(asked, _)| asked).next_back()?;
    Some(with_calls.filter(|((turn, _), _)| turn == last).map(|((_, by), _)| by.as_str()).collect())
}
