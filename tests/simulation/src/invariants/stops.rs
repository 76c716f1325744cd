//! The guarantee about stops.

use ars_types::StopMode;

use super::found::Found;
use crate::{
    evidence::{Evidence, RunSeen, Stopped},
    script,
};

/// Maximum delay for a stop stored by another process: a heartbeat interval plus latency.
const DELIVERY_MS: u64 = 11_000;

pub(super) fn a_stopped_run_stays_stopped(evidence: &Evidence, found: &mut Found) {
    // A stop that could not be stored is lost with its process.
    let is_lost = |stop: &Stopped| !stop.is_stored && evidence.killed.contains_key(&stop.through);
    for stop in evidence
        .stops
        .iter()
        .filter(|stop| !stop.is_late && !is_lost(stop))
    {
        let run = evidence.runs.get(&stop.run);
        let status = run
            .and_then(|run| run.record.as_ref()?["status"].as_str())
            .unwrap_or("none");
        // If there are several stops, the last wins in the ledger.
        let is_softened = evidence
            .stops
            .iter()
            .any(|other| other.run == stop.run && other.mode == StopMode::Soft);
        let is_kept = match stop.mode {
            _ if run.is_some_and(|run| was_over_before_delivery(stop, run, evidence)) => true,
            StopMode::Hard if is_softened && status == "stopped_soft" => true,
            // Interrupted: the run was being closed when the stop came, because it could not be resumed.
            StopMode::Hard => ["stopped_hard", "interrupted"].contains(&status),
            StopMode::Soft => ["stopped_soft", "stopped_hard", "interrupted"].contains(&status),
        };
        found.unless(is_kept, "a stopped run stays stopped", || {
            format!("{stop:?}: {status}")
        });
        if stop.mode == StopMode::Hard {
            let later = evidence.effects.iter().find(|effect| {
                effect.number > stop.number
                    && effect.may_serve(run.and_then(|run| run.request.as_deref()))
                    && stop
                        .owner
                        .as_ref()
                        .is_some_and(|owner| *owner != effect.process)
            });
            found.unless(
                later.is_none(),
                "no later process resumes a hard-stopped run",
                || format!("{stop:?}: {later:?}"),
            );
        }
    }
}

/// Returns whether the run, driven by another process, was over before the stop had to arrive.
/// The model had answered, or money or time had run out.
fn was_over_before_delivery(stop: &Stopped, run: &RunSeen, evidence: &Evidence) -> bool {
    if stop.owner.as_ref() == Some(&stop.through) {
        return false;
    }
    let label = run
        .record
        .as_ref()
        .and_then(|record| record["label"].as_str())
        .unwrap_or_default();
    let answered = script::ids(label)
        .iter()
        .filter_map(|id| evidence.answered.get(id))
        .min()
        .copied();
    let by = deadline(stop.at_ms, &evidence.disrupted);
    answered.is_some_and(|at| at <= by)
        || was_ended_by(stop.owner.as_deref(), run).is_some_and(|at| at <= by)
}

/// Returns when the driver sent the end that the run has.
/// It wrote the record, or the ledger stored its end and a later process closed the run with it.
fn was_ended_by(driver: Option<&str>, run: &RunSeen) -> Option<u64> {
    let driver = driver?;
    let is_its_record = run.finished.as_ref().is_none_or(|(_, by)| by == driver);
    let at = run.ending.get(driver).copied();
    at.filter(|_| is_its_record || run.end_stored_by.contains(driver))
}

/// Returns the latest time at which the owner must have received a stop.
/// Each disruption delays it to a later heartbeat.
fn deadline(stopped_ms: u64, disrupted: &[(u64, u64)]) -> u64 {
    let mut disrupted = disrupted.to_vec();
    disrupted.sort_unstable();
    let put_off = |by: u64, (from, to): &(u64, u64)| {
        if *from <= by {
            by.max(to + DELIVERY_MS)
        } else {
            by
        }
    };
    disrupted.iter().fold(stopped_ms + DELIVERY_MS, put_off)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STOPPED_MS: u64 = 37_000;

    /// The first process drives the run and sends its end for lack of money. This process writes
    /// the record.
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
            end_stored_by: end_is_known.then(driver).into_iter().collect(),
            finished: Some((20, finished_by.into())),
            ..RunSeen::default()
        };
        let evidence = Evidence {
            stops: vec![stop],
            runs: [("run".to_owned(), run)].into(),
            ..Evidence::default()
        };
        let mut found = Found::default();
        a_stopped_run_stays_stopped(&evidence, &mut found);
        found.0.is_empty()
    }

    #[test]
    fn run_ended_before_the_stop_deadline_may_complete() {
        let by = STOPPED_MS + DELIVERY_MS;
        assert!(is_kept("g2", by, "g1", false));
        assert!(!is_kept("g2", by + 1, "g1", false), "it had to know");
        assert!(!is_kept("g1", by, "g1", false), "its own process was asked");
    }

    #[test]
    fn lost_end_does_not_excuse_a_later_owner() {
        let by = STOPPED_MS + DELIVERY_MS;
        assert!(
            !is_kept("g2", by, "g2", false),
            "the stop was found with the run, and no end"
        );
        assert!(
            is_kept("g2", by, "g2", true),
            "the end was found with the run"
        );
    }
}
