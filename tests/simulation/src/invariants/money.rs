//! The promises about money: what is told of it, and what it bounds (docs/ARCHITECTURE.md, "what bounds a run"; the
//! specification has no prices).

use super::Found;
use crate::evidence::{Evidence, RunSeen, Thought};

pub(super) fn a_record_tells_all_that_a_run_has_cost(
    id: &str,
    run: &RunSeen,
    evidence: &Evidence,
    found: &mut Found,
) {
    let (Some((_, by)), Some(record)) = (&run.finished, &run.record) else { return };
    // Whoever closes a run that was cut off goes by what is stored.
    let by = if record["status"] == "interrupted" { "" } else { by };
    let told = record["costMicroUsd"].as_u64().unwrap_or_default();
    let spent = known(id, run, by, u64::MAX, evidence);
    found.unless(told >= spent, "a record tells no less than what the run's model calls have cost", || {
        format!("{id}: told {told}, spent {spent}")
    });
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
/// what anybody was told before a step that the ledger acknowledged. The rest died with whoever knew it.
fn known(id: &str, run: &RunSeen, process: &str, at: u64, evidence: &Evidence) -> u64 {
    let taken_over =
        run.taken_over.iter().copied().filter(|taken_at| *taken_at < at).max().unwrap_or_default();
    let mut sum = 0;
    for thought in of(id, run, evidence) {
        let is_stored = |told_at: u64| {
            run.steps
                .iter()
                .any(|(stored_at, by)| *by == thought.process && told_at < *stored_at && *stored_at < at)
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
