//! The guarantee about follow-ups.

use std::collections::BTreeSet;

use super::found::{Found, events};
use crate::{
    evidence::{Evidence, PassedOn, RunSeen},
    script,
};

/// Port calls between a run's record and the next run's claim, including some by other processes.
const BETWEEN: u64 = 10;

pub(super) fn acknowledged_follow_up_is_not_lost(evidence: &Evidence, found: &mut Found) {
    for (id, passed_on) in &evidence.passed_on {
        let is_told = evidence
            .delivered
            .iter()
            .any(|delivered| delivered.to == *id)
            || evidence.returned.contains(id);
        let is_kept = is_told
            || evidence.runs.values().any(|run| has_read(run, id))
            || was_lost_with_its_process(id, passed_on, evidence)
            || runs_of(id, passed_on, evidence)
                .any(|run| is_cut_off(run) || was_between(run, passed_on, evidence));
        found.unless(is_kept, "an acknowledged follow-up is not lost", || {
            format!("{id}: {passed_on:?}")
        });
    }
}

/// Returns whether the run read a follow-up. In an outage the event may be lost, but the answer
/// names it.
fn has_read(run: &RunSeen, id: &str) -> bool {
    let events = run.record.as_ref().map_or(&[][..], events);
    let published = events
        .iter()
        .filter(|event| event["type"] == "input" || event["type"] == "answer");
    published
        .filter_map(|event| event["text"].as_str())
        .any(|text| script::ids(text).iter().any(|read| read == id))
}

/// Accepted by a process while the ledger was unreachable, and lost when that process was killed.
fn was_lost_with_its_process(id: &str, passed_on: &PassedOn, evidence: &Evidence) -> bool {
    let killed_at = evidence.killed.get(&passed_on.through);
    !evidence.kept.contains_key(id) && killed_at.is_some_and(|at| *at >= passed_on.number)
}

/// Returns a follow-up's runs: the acknowledged run, those in the ledger, and its own.
fn runs_of<'a>(
    id: &'a str,
    passed_on: &'a PassedOn,
    evidence: &'a Evidence,
) -> impl Iterator<Item = &'a RunSeen> {
    let mut ids: BTreeSet<_> = evidence.kept.get(id).into_iter().flatten().collect();
    ids.extend(&passed_on.run);
    let is_its = move |run: &RunSeen| {
        let label = run
            .record
            .as_ref()
            .and_then(|record| record["label"].as_str())
            .unwrap_or_default();
        script::ids(label).iter().any(|of| of == id)
    };
    evidence
        .runs
        .iter()
        .filter(move |(run, seen)| ids.contains(run) || is_its(seen))
        .map(|(_, run)| run)
}

/// An interrupted run sends no reply. The thread's next run reads its record.
fn is_cut_off(run: &RunSeen) -> bool {
    run.record
        .as_ref()
        .is_none_or(|record| record["status"] == "interrupted")
}

/// A requeued follow-up belongs to no run between the end of its run and its own claim.
fn was_between(run: &RunSeen, passed_on: &PassedOn, evidence: &Evidence) -> bool {
    let Some((finished_at, by)) = &run.finished else {
        return false;
    };
    let killed_at = evidence.killed.get(by).filter(|_| *by == passed_on.through);
    killed_at.is_some_and(|at| (*finished_at..*finished_at + BETWEEN).contains(at))
}
