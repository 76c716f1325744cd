//! The promise about stops (document 2 section 3.3, state-worker supplement section 9.3).

use ars_types::StopMode;

use super::Found;
use crate::{
    evidence::{Evidence, RunSeen, Stopped},
    script,
};

/// A process hears within this time of a stop that reached the ledger through another: a heartbeat, and what it takes.
const HEARD_WITHIN_MS: u64 = 11_000;

pub(super) fn a_stopped_run_stays_stopped(evidence: &Evidence, found: &mut Found) {
    // A stop that could not be stored is lost with the process that took it.
    let is_lost = |stop: &Stopped| !stop.is_stored && evidence.killed.contains_key(&stop.through);
    for stop in evidence.stops.iter().filter(|stop| !stop.is_late && !is_lost(stop)) {
        let run = evidence.runs.get(&stop.run);
        let status = run.and_then(|run| run.record.as_ref()?["status"].as_str()).unwrap_or("none");
        // The ledger keeps the last of several stops (state-worker supplement section 9.3).
        let is_softened =
            evidence.stops.iter().any(|other| other.run == stop.run && other.mode == StopMode::Soft);
        let is_kept = match stop.mode {
            _ if run.is_some_and(|run| was_done_before_it_heard(stop, run, evidence)) => true,
            StopMode::Hard if is_softened && status == "stopped_soft" => true,
            // Interrupted: it was being closed when the stop came, because it could not go on.
            StopMode::Hard => ["stopped_hard", "interrupted"].contains(&status),
            StopMode::Soft => ["stopped_soft", "stopped_hard", "interrupted"].contains(&status),
        };
        found.unless(is_kept, "a run that was asked to stop stays stopped", || format!("{stop:?}: {status}"));
        if stop.mode == StopMode::Hard {
            let later = evidence.effects.iter().find(|effect| {
                effect.number > stop.number
                    && effect.may_serve(run.and_then(|run| run.request.as_deref()))
                    && stop.owner.as_ref().is_some_and(|owner| *owner != effect.process)
            });
            found.unless(later.is_none(), "no later process works on a run that was stopped hard", || {
                format!("{stop:?}: {later:?}")
            });
        }
    }
}

/// Another process drives the run, and it was over before that process had to know of the stop: the model had given its
/// answer, or what the run had left in money or time had ended it without one.
fn was_done_before_it_heard(stop: &Stopped, run: &RunSeen, evidence: &Evidence) -> bool {
    if stop.owner.as_ref() == Some(&stop.through) {
        return false;
    }
    let label = run.record.as_ref().and_then(|record| record["label"].as_str()).unwrap_or_default();
    let answered = script::ids(label).iter().filter_map(|id| evidence.answered.get(id)).min().copied();
    let by = heard_by(stop.at_ms, &evidence.hindered);
    answered.is_some_and(|at| at <= by) || was_ended_by(stop.owner.as_deref(), run).is_some_and(|at| at <= by)
}

/// When the process that drove the run said how it ends, if that is the end it has: this process brought the record, or the
/// ledger had heard of the end and whoever came after closed the run with it.
fn was_ended_by(driver: Option<&str>, run: &RunSeen) -> Option<u64> {
    let driver = driver?;
    let is_its_record = run.finished.as_ref().is_none_or(|(_, by)| by == driver);
    let at = run.ending.get(driver).copied();
    at.filter(|_| is_its_record || run.end_heard_of.contains(driver))
}

/// When the owner of a run must have heard: each stretch in which it could not puts it off to a heartbeat after it.
fn heard_by(stopped_ms: u64, hindered: &[(u64, u64)]) -> u64 {
    let mut hindered = hindered.to_vec();
    hindered.sort_unstable();
    let put_off =
        |by: u64, (from, to): &(u64, u64)| if *from <= by { by.max(to + HEARD_WITHIN_MS) } else { by };
    hindered.iter().fold(stopped_ms + HEARD_WITHIN_MS, put_off)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STOPPED_MS: u64 = 37_000;

    /// The first process drives the run and says at this time that its money has ended it; this one brings the record.
    fn is_kept(through: &str, ended_ms: u64, finished_by: &str, end_is_known: bool) -> bool {
        let driver = || "g1".to_owned();
        let stop = Stopped {
            run: "run".into(),
            mode: StopMode::Soft,
            through: through.into(),
            owner: Some(driver()),
            is_stored: true,
            is_late: false,
            number: 10,
            at_ms: STOPPED_MS,
        };
        let run = RunSeen {
            record: Some(json!({ "status": "completed", "label": "m0" })),
            ending: [(driver(), ended_ms)].into(),
            end_heard_of: end_is_known.then(driver).into_iter().collect(),
            finished: Some((20, finished_by.into())),
            ..RunSeen::default()
        };
        let evidence =
            Evidence { stops: vec![stop], runs: [("run".to_owned(), run)].into(), ..Evidence::default() };
        let mut found = Found::default();
        a_stopped_run_stays_stopped(&evidence, &mut found);
        found.0.is_empty()
    }

    #[test]
    fn only_a_run_that_ended_before_its_driver_had_to_hear_need_not_be_stopped() {
        let by = STOPPED_MS + HEARD_WITHIN_MS;
        assert!(is_kept("g2", by, "g1", false));
        assert!(!is_kept("g2", by + 1, "g1", false), "it had to know");
        assert!(!is_kept("g1", by, "g1", false), "its own process was asked");
    }

    #[test]
    fn an_end_that_died_with_its_process_excuses_nobody_who_takes_the_run_over() {
        let by = STOPPED_MS + HEARD_WITHIN_MS;
        assert!(!is_kept("g2", by, "g2", false), "the stop was found with the run, and no end");
        assert!(is_kept("g2", by, "g2", true), "the end was found with the run");
    }
}
