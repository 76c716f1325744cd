//! Guarantees that a run's stream has each tool call and each result exactly once.
//!
//! Ids may repeat from step to step, so events are counted. Not here: other events (`events`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::found::{Found, events};
use crate::{
    evidence::{Evidence, RunSeen, StepSeen},
    story::Story,
};

/// Event kinds that a run has once per tool call.
const ONE_FOR_EACH_CALL: [&str; 2] = ["tool_call", "tool_result"];

pub(super) fn tool_calls_are_published_once(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(record) = &run.record else { return };
    let events = events(record);
    let least = surely_published(run);
    let are_all_stored = evidence.failed_requests == 0 && !run.asked.is_empty();
    for kind in ONE_FOR_EACH_CALL {
        let mut published = BTreeMap::<_, usize>::new();
        for event in events.iter().filter(|event| event["type"] == kind) {
            *published
                .entry(event["callId"].as_str().unwrap_or_default())
                .or_default() += 1;
        }
        let again: BTreeSet<_> = match are_all_stored {
            true => published
                .iter()
                .filter(|(call, count)| **count > made(run, call))
                .map(|(call, _)| *call)
                .collect(),
            false => published_again(events, kind, evidence.story),
        };
        found.unless(
            again.is_empty(),
            "a tool call and its result are published once",
            || format!("{id}: {kind} again of {again:?}"),
        );
        for (call, least) in &least {
            let count = published.get(call).copied().unwrap_or_default();
            found.unless(count >= *least, "no tool call or result is omitted", || {
                format!("{id}: {kind} of {call} {count} times, made {least} times")
            });
        }
    }
}

/// Counts a call: once in each conversation turn that has it, independent of the process.
fn made(run: &RunSeen, call: &str) -> usize {
    let turns = run
        .asked
        .iter()
        .filter(|(_, calls)| calls.iter().any(|made| made == call));
    turns
        .map(|((turn, _), _)| turn)
        .collect::<BTreeSet<_>>()
        .len()
}

/// Returns calls that may be repeated. How many turns were never stored is unknown. A resuming
/// process requests them again, and the scripted model returns the same ids.
fn published_again<'a>(events: &'a [Value], kind: &str, story: Story) -> BTreeSet<&'a str> {
    let repeats_ids = story == Story::Reviewed;
    let mut published = BTreeSet::new();
    let mut again = BTreeSet::new();
    for event in events {
        let is_asked = event["type"] == "span_start" && event["name"] == "model.turn";
        if event["kind"] == "resumed" || (repeats_ids && is_asked) {
            published.clear();
        }
        let call = event["callId"].as_str().unwrap_or_default();
        if event["type"] == kind && !published.insert(call) {
            again.insert(call);
        }
    }
    again
}

/// Returns how often each call must be in the record. A killed process's last events are lost, so
/// only steps followed by a step from the same process count, because that process flushed all
/// earlier events.
fn surely_published(run: &RunSeen) -> BTreeMap<&str, usize> {
    let mut published = BTreeMap::new();
    for (number, step) in &run.stored {
        let Some(next) = run.stored.get(&(number + 1)) else {
            continue;
        };
        if has_flushed_all_before(run, next) {
            step.calls
                .iter()
                .for_each(|call| *published.entry(call.as_str()).or_default() += 1);
        }
    }
    published
}

fn has_flushed_all_before(run: &RunSeen, step: &StepSeen) -> bool {
    let process = &step.process;
    let claimed = run.claimed.as_ref().map(|(_, by)| by);
    // Calls before the process lost the run and calls after it reclaimed the run cannot be distinguished.
    let has_come_back = claimed
        .into_iter()
        .chain(&run.reclaimers)
        .filter(|had| *had == process)
        .count()
        > 1;
    let has_asked =
        !has_come_back && last_asked(run, step).is_some_and(|by| by.contains(&process.as_str()));
    let has_finished = run.finished.as_ref().is_some_and(|(_, by)| by == process);
    has_asked
        && (has_finished
            || run
                .flushed
                .get(process)
                .is_some_and(|last| *last >= step.seq))
}

/// Returns the processes that requested the last turn with calls in a step.
/// Behind it are only results, which another process may have stored.
fn last_asked<'a>(run: &'a RunSeen, step: &StepSeen) -> Option<Vec<&'a str>> {
    let with_calls = run
        .asked
        .iter()
        .filter(|((turn, _), calls)| *turn < step.turns && !calls.is_empty());
    let (last, _) = with_calls.clone().map(|(asked, _)| asked).next_back()?;
    Some(
        with_calls
            .filter(|((turn, _), _)| turn == last)
            .map(|((_, by), _)| by.as_str())
            .collect(),
    )
}
