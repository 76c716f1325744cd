//! The promises about money: what is told of it, and what it bounds (docs/ARCHITECTURE.md, "what bounds a run"; the
//! specification has no prices).

use serde_json::Value;

use super::Found;
use crate::evidence::{Evidence, RunSeen, Thought};

pub(super) fn a_record_tells_all_that_a_run_has_cost(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let (Some((_, by)), Some(record)) = (&run.finished, &run.record) else { return };
    // Whoever closes a run that was cut off goes by what is stored; the day counts all that it may have cost.
    let is_cut_off = record["status"] == "interrupted";
    let by = if is_cut_off { "" } else { by };
    // A stray is closed by its row alone, which does not know its steps: its record says what it held, and no cost.
    let told =
        record["costMicroUsd"].as_u64().or_else(|| record["heldMicroUsd"].as_u64().filter(|_| is_cut_off));
    let told = told.unwrap_or_default();
    let spent = known(id, run, by, u64::MAX, evidence);
    found.unless(told >= spent, "a record tells no less than what the run's model calls have cost", || {
        format!("{id}: told {told}, spent {spent}")
    });
    let Some(hold) = run.hold.filter(|_| is_cut_off) else { return };
    let spent: u64 = of(id, run, evidence).flat_map(|thought| &thought.told).map(|told| told.1).sum();
    let (counted, spent) = (counted(record), spent.min(hold));
    found.unless(counted >= spent, "a run that was cut off counts all it has spent, up to its hold", || {
        format!("{id}: counted {counted}, spent {spent}")
    });
}

/// What the day counts of a record.
fn counted(record: &Value) -> u64 {
    let number = |name: &str| record[name].as_u64().unwrap_or_default();
    (number("costMicroUsd") + number("reflectionMicroUsd")).max(number("heldMicroUsd"))
}

pub(super) fn a_run_past_its_cap_asks_no_model(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(cap) = run.cap else { return };
    for thought in of(id, run, evidence) {
        let spent = known(id, run, &thought.process, thought.number, evidence);
        found.unless(spent <= cap, "a run past its cap asks no model again", || {
            format!("{id}: {spent} of {cap} spent at call {} of {}", thought.number, thought.process)
        });
    }
}

/// What other processes have not recorded nobody can know: what counts is what was recorded when the day was asked for.
pub(super) fn no_run_begins_past_the_days_cap(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let (Some(cap), Some((claimed_at, by))) = (evidence.story.day_cap(), &run.claimed) else { return };
    let listed = evidence
        .calls
        .iter()
        .rev()
        .find(|(number, process, name)| number < claimed_at && process == by && name == LIST);
    let Some((asked_at, ..)) = listed else {
        return found.unless(false, "a run begins when the day's costs are known", || id.to_owned());
    };
    let recorded = evidence
        .runs
        .values()
        .filter(|other| other.finished.as_ref().is_some_and(|(finished_at, _)| finished_at < asked_at));
    let costs = recorded.filter_map(|other| other.record.as_ref()?["costMicroUsd"].as_u64());
    let spent: u64 = costs.sum();
    found.unless(spent < cap, "no run begins when the day's money is spent", || {
        format!("{id}: {spent} of {cap}")
    });
}

/// What all runs may cost that its process can know of when a run begins, itself included, is within the day's cap.
pub(super) fn runs_that_share_a_day_hold_no_more_than_its_cap(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let Some(cap) = evidence.story.day_cap() else { return };
    let (Some(hold), Some((sent_at, sent_ms)), Some((_, by))) = (run.hold, run.claiming, &run.claimed) else {
        return;
    };
    let is_list =
        |(number, process, name): &&(u64, String, String)| *number < sent_at && process == by && name == LIST;
    let Some((asked_at, ..)) = evidence.calls.iter().rev().find(is_list) else { return };
    let known_ms = known_of_others(evidence, evidence.called_ms[*asked_at as usize - 1], sent_ms);
    let others = evidence.runs.iter().filter(|(other_id, other)| {
        let is_own = other.claimed.as_ref().is_some_and(|(_, other_by)| other_by == by);
        let is_before = other.claiming.is_some_and(|(at, _)| at < *asked_at);
        other_id.as_str() != id && is_before && other.is_claimed && (is_own || other.claimed_ms < known_ms)
    });
    let sum: u64 = others.map(|(_, other)| part_of_day(other, by, *asked_at)).sum();
    found.unless(sum + hold <= cap, "runs that share a day hold no more than its cap", || {
        format!("{id}: {hold} beside {sum} of {cap}")
    });
}

/// Up to when a process knows of other processes' runs that asks at this moment: it may have read their rows a while
/// ago, and longer if something kept it or the stores from going on.
fn known_of_others(evidence: &Evidence, asked_ms: u64, sent_ms: u64) -> u64 {
    let mut known_ms = asked_ms.saturating_sub(ROWS_KEPT_MS);
    let mut windows: Vec<_> = evidence.hindered.iter().filter(|(from, _)| *from <= sent_ms).collect();
    windows.sort_unstable_by_key(|(_, until)| std::cmp::Reverse(*until));
    for (from, until) in windows {
        if *until + ROWS_KEPT_MS >= known_ms {
            known_ms = known_ms.min(from.saturating_sub(ROWS_KEPT_MS));
        }
    }
    known_ms
}

/// What a run takes of the day, for a process that asked at a call: what it has cost, or what it holds until then.
fn part_of_day(run: &RunSeen, asked_by: &str, asked_at: u64) -> u64 {
    let hold = run.hold.unwrap_or_default();
    let cost = run.record.as_ref().map(counted);
    match (&run.finished, cost) {
        (Some((finished_at, _)), Some(cost)) if *finished_at < asked_at => cost,
        // It knows what its own run has cost before the ledger does.
        (Some((_, by)), Some(cost)) if by == asked_by => cost.min(hold),
        _ => hold,
    }
}

/// For how long a process takes the ledger's rows as read, and a little for their way.
const ROWS_KEPT_MS: u64 = 2_100;

/// The route that tells what a day has cost.
const LIST: &str = "/runs/list";

/// The calls that a run made of its model.
fn of<'a>(id: &'a str, run: &'a RunSeen, evidence: &'a Evidence) -> impl Iterator<Item = &'a Thought> {
    let is_its = move |thought: &&Thought| {
        let message = thought.about.first();
        // A message that two runs claim is another promise's matter.
        let claimants = evidence.runs.values().filter(|other| other.request.as_ref() == message);
        message.is_some() && run.request.as_ref() == message && claimants.count() == 1 && !id.is_empty()
    };
    evidence.thoughts.iter().filter(is_its)
}

/// What a process has to know of a run's cost at a call: what it was told itself since the run was last taken over, and
/// what anybody was told before a step of its own that the ledger acknowledged. The rest was lost with whoever knew it:
/// it died, or the run was taken from it (docs/decisions/0011).
fn known(id: &str, run: &RunSeen, process: &str, at: u64, evidence: &Evidence) -> u64 {
    let taken_over =
        run.taken_over.iter().copied().filter(|taken_at| *taken_at < at).max().unwrap_or_default();
    let mut sum = 0;
    for thought in of(id, run, evidence) {
        // A process that takes its own run back knows no more of it than another would.
        let is_taken = |from: u64, until: u64| run.taken_over.iter().any(|at| from <= *at && *at < until);
        let is_stored = |told_at: u64| {
            run.steps.iter().any(|(stored_at, by)| {
                *by == thought.process
                    && told_at < *stored_at
                    && *stored_at < at
                    && !is_taken(told_at, *stored_at)
            })
        };
        let is_own = |told_at: u64| thought.process == process && told_at > taken_over;
        let told = thought.told.iter().filter(|(told_at, _)| *told_at < at);
        sum += told
            .filter(|(told_at, _)| is_own(*told_at) || is_stored(*told_at))
            .map(|told| told.1)
            .sum::<u64>();
    }
    sum
}
