//! The promise about follow-ups (bot supplement section 13).

use std::collections::BTreeSet;

use super::{Found, events};
use crate::{
    evidence::{Evidence, PassedOn, RunSeen},
    script,
};

/// Calls from a run's record to the claim of the fresh turn that follows it, and some of other processes.
const BETWEEN: u64 = 10;

pub(super) fn an_acknowledged_follow_up_is_not_forgotten(evidence: &Evidence, found: &mut Found) {
    for (id, passed_on) in &evidence.passed_on {
        let is_told = evidence.said.iter().any(|said| said.to == *id) || evidence.handed_back.contains(id);
        let is_kept = is_told
            || evidence.runs.values().any(|run| has_read(run, id))
            || was_lost_with_its_process(id, passed_on, evidence)
            || runs_of(id, passed_on, evidence)
                .any(|run| is_cut_off(run) || was_between(run, passed_on, evidence));
        found
            .unless(is_kept, "an acknowledged follow-up is not forgotten", || format!("{id}: {passed_on:?}"));
    }
}

/// In an outage the event of what a follow-up said may be lost; the answer tells what the model has heard.
fn has_read(run: &RunSeen, id: &str) -> bool {
    let events = run.record.as_ref().map_or(&[][..], events);
    let told = events.iter().filter(|event| event["type"] == "input" || event["type"] == "answer");
    told.filter_map(|event| event["text"].as_str())
        .any(|text| script::ids(text).iter().any(|heard| heard == id))
}

/// Taken in by a process alone, while the ledger could not be reached, and lost with that process.
fn was_lost_with_its_process(id: &str, passed_on: &PassedOn, evidence: &Evidence) -> bool {
    let killed_at = evidence.killed.get(&passed_on.through);
    !evidence.kept.contains_key(id) && killed_at.is_some_and(|at| *at >= passed_on.number)
}

/// The runs that had it: the one its sender was told of, those that the ledger kept it for, and its own fresh turn.
fn runs_of<'a>(
    id: &'a str,
    passed_on: &'a PassedOn,
    evidence: &'a Evidence,
) -> impl Iterator<Item = &'a RunSeen> {
    let mut ids: BTreeSet<_> = evidence.kept.get(id).into_iter().flatten().collect();
    ids.extend(&passed_on.run);
    let is_its = move |run: &RunSeen| {
        let label = run.record.as_ref().and_then(|record| record["label"].as_str()).unwrap_or_default();
        script::ids(label).iter().any(|of| of == id)
    };
    evidence.runs.iter().filter(move |(run, seen)| ids.contains(run) || is_its(seen)).map(|(_, run)| run)
}

/// Nobody answers for a run that was interrupted, but its record, which whoever follows up reads.
fn is_cut_off(run: &RunSeen) -> bool {
    run.record.as_ref().is_none_or(|record| record["status"] == "interrupted")
}

/// What is to be run as a fresh turn is nobody's between the run before and its own claim.
fn was_between(run: &RunSeen, passed_on: &PassedOn, evidence: &Evidence) -> bool {
    let Some((finished_at, by)) = &run.finished else { return false };
    let killed_at = evidence.killed.get(by).filter(|_| *by == passed_on.through);
    killed_at.is_some_and(|at| (*finished_at..*finished_at + BETWEEN).contains(at))
}
