//! Guarantees about money: the reported costs and the caps (docs/ARCHITECTURE.md, "what bounds a run").

use serde_json::Value;

use super::found::Found;
use crate::evidence::{Evidence, ModelCall, RunSeen};

pub(super) fn record_has_the_whole_cost(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let (Some((_, by)), Some(record)) = (&run.finished, &run.record) else {
        return;
    };
    // An interrupted run is closed with its stored cost. The day counts its whole reservation.
    let is_cut_off = record["status"] == "interrupted";
    let by = if is_cut_off { "" } else { by };
    // An orphaned run may be closed by the row alone, without the steps: its record has the
    // reservation and no cost.
    let reported = record["costMicroUsd"]
        .as_u64()
        .or_else(|| record["heldMicroUsd"].as_u64().filter(|_| is_cut_off));
    let reported = reported.unwrap_or_default();
    let spent = known(id, run, by, u64::MAX, evidence);
    found.unless(
        reported >= spent,
        "a record has at least the cost of the run's model calls",
        || format!("{id}: reported {reported}, spent {spent}"),
    );
    let Some(hold) = run.hold.filter(|_| is_cut_off) else {
        return;
    };
    let spent: u64 = calls_in_run(id, run, evidence)
        .flat_map(|model_call| &model_call.reported)
        .map(|reported| reported.1)
        .sum();
    let counted = counted(record);
    let spent = spent.min(hold);
    found.unless(
        counted >= spent,
        "an interrupted run counts all it has spent, up to its reservation",
        || format!("{id}: counted {counted}, spent {spent}"),
    );
}

/// Returns a record's amount that the day counts.
fn counted(record: &Value) -> u64 {
    let number = |name: &str| record[name].as_u64().unwrap_or_default();
    (number("costMicroUsd") + number("reflectionMicroUsd")).max(number("heldMicroUsd"))
}

pub(super) fn run_past_its_cap_calls_no_model(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(cap) = run.cap else { return };
    for model_call in calls_in_run(id, run, evidence) {
        let spent = known(id, run, &model_call.process, model_call.number, evidence);
        found.unless(
            spent <= cap,
            "a run past its cap makes no model call",
            || {
                format!(
                    "{id}: {spent} of {cap} spent at call {} of {}",
                    model_call.number, model_call.process
                )
            },
        );
    }
}

/// Costs that other processes have not recorded are unknown. The costs recorded at query time
/// count.
pub(super) fn no_run_starts_past_the_days_cap(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let (Some(cap), Some((claimed_at, by))) = (evidence.story.day_cap(), &run.claimed) else {
        return;
    };
    let listed = evidence
        .calls
        .iter()
        .rev()
        .find(|(number, process, name)| number < claimed_at && process == by && name == LIST);
    let Some((asked_at, ..)) = listed else {
        return found.unless(
            false,
            "a run starts only when the day's costs are known",
            || id.to_owned(),
        );
    };
    let recorded = evidence.runs.values().filter(|other| {
        other
            .finished
            .as_ref()
            .is_some_and(|(finished_at, _)| finished_at < asked_at)
    });
    let costs = recorded.filter_map(|other| other.record.as_ref()?["costMicroUsd"].as_u64());
    let spent: u64 = costs.sum();
    found.unless(
        spent < cap,
        "no run starts when the day's cap is reached",
        || format!("{id}: {spent} of {cap}"),
    );
}

/// All known runs' reservations at a run's start, including its own, are within the day's cap.
pub(super) fn reservations_stay_within_the_days_cap(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(cap) = evidence.story.day_cap() else {
        return;
    };
    let (Some(hold), Some((sent_at, sent_ms)), Some((_, by))) =
        (run.hold, run.claiming, &run.claimed)
    else {
        return;
    };
    let is_list = |(number, process, name): &&(u64, String, String)| {
        *number < sent_at && process == by && name == LIST
    };
    let Some((asked_at, ..)) = evidence.calls.iter().rev().find(is_list) else {
        return;
    };
    let known_ms = known_of_others(
        evidence,
        evidence.called_ms[*asked_at as usize - 1],
        sent_ms,
    );
    let others = evidence.runs.iter().filter(|(other_id, other)| {
        let is_own = other
            .claimed
            .as_ref()
            .is_some_and(|(_, other_by)| other_by == by);
        let is_before = other.claiming.is_some_and(|(at, _)| at < *asked_at);
        other_id.as_str() != id
            && is_before
            && other.is_claimed
            && (is_own || other.claimed_ms < known_ms)
    });
    let sum: u64 = others
        .map(|(_, other)| part_of_day(other, by, *asked_at))
        .sum();
    found.unless(
        sum + hold <= cap,
        "reservations of a day stay within its cap",
        || format!("{id}: {hold} beside {sum} of {cap}"),
    );
}

/// Returns the time up to which a process knows about other processes' runs. Its copy of the rows
/// may be older, and older still if the process or the stores were delayed.
fn known_of_others(evidence: &Evidence, asked_ms: u64, sent_ms: u64) -> u64 {
    let mut known_ms = asked_ms.saturating_sub(ROWS_KEPT_MS);
    let mut windows: Vec<_> = evidence
        .disrupted
        .iter()
        .filter(|(from, _)| *from <= sent_ms)
        .collect();
    windows.sort_unstable_by_key(|(_, until)| std::cmp::Reverse(*until));
    for (from, until) in windows {
        if *until + ROWS_KEPT_MS >= known_ms {
            known_ms = known_ms.min(from.saturating_sub(ROWS_KEPT_MS));
        }
    }
    known_ms
}

/// Returns a run's share in a day for a process at a call: its cost, or its reservation before it
/// ends.
fn part_of_day(run: &RunSeen, asked_by: &str, asked_at: u64) -> u64 {
    let hold = run.hold.unwrap_or_default();
    let cost = run.record.as_ref().map(counted);
    match (&run.finished, cost) {
        (Some((finished_at, _)), Some(cost)) if *finished_at < asked_at => cost,
        // A process knows its own run's cost before the ledger does.
        (Some((_, by)), Some(cost)) if by == asked_by => cost.min(hold),
        _ => hold,
    }
}

/// Maximum age of a process's ledger row copy, plus latency.
const ROWS_KEPT_MS: u64 = 2_100;

/// Route that lists a day's costs.
const LIST: &str = "/runs/list";

/// Returns a run's model calls.
fn calls_in_run<'a>(
    id: &'a str,
    run: &'a RunSeen,
    evidence: &'a Evidence,
) -> impl Iterator<Item = &'a ModelCall> {
    let is_its = move |model_call: &&ModelCall| {
        let message = model_call.about.first();
        // Another guarantee covers messages claimed by two runs.
        let claimants = evidence
            .runs
            .values()
            .filter(|other| other.request.as_ref() == message);
        message.is_some()
            && run.request.as_ref() == message
            && claimants.count() == 1
            && !id.is_empty()
    };
    evidence.model_calls.iter().filter(is_its)
}

/// Returns a run's cost that a process must know at a call. That is usage reported to it since the
/// last reclaim, and usage reported to any process before an acknowledged step. The rest is lost
/// with its process (docs/decisions/0011).
fn known(id: &str, run: &RunSeen, process: &str, at: u64, evidence: &Evidence) -> u64 {
    let reclaimed_at = run
        .reclaimed_at
        .iter()
        .copied()
        .filter(|taken_at| *taken_at < at)
        .max()
        .unwrap_or_default();
    let mut sum = 0;
    for model_call in calls_in_run(id, run, evidence) {
        // A process that reclaims its own run knows no more than any other.
        let is_taken =
            |from: u64, until: u64| run.reclaimed_at.iter().any(|at| from <= *at && *at < until);
        let is_stored = |told_at: u64| {
            run.steps.iter().any(|(stored_at, by)| {
                *by == model_call.process
                    && told_at < *stored_at
                    && *stored_at < at
                    && !is_taken(told_at, *stored_at)
            })
        };
        let is_own = |told_at: u64| model_call.process == process && told_at > reclaimed_at;
        let reported = model_call
            .reported
            .iter()
            .filter(|(told_at, _)| *told_at < at);
        sum += reported
            .filter(|(told_at, _)| is_own(*told_at) || is_stored(*told_at))
            .map(|reported| reported.1)
            .sum::<u64>();
    }
    sum
}
