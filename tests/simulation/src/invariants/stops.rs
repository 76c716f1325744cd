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

/// Another process drives the run, and the model had given its answer before that process had to know of the stop.
fn was_done_before_it_heard(stop: &Stopped, run: &RunSeen, evidence: &Evidence) -> bool {
    if stop.owner.as_ref() == Some(&stop.through) {
        return false;
    }
    let label = run.record.as_ref().and_then(|record| record["label"].as_str()).unwrap_or_default();
    let answered = script::ids(label).iter().filter_map(|id| evidence.answered.get(id)).min().copied();
    answered.is_some_and(|at| at <= heard_by(stop.at_ms, &evidence.hindered))
}

/// When the owner of a run must have heard: each stretch in which it could not puts it off to a heartbeat after it.
fn heard_by(stopped_ms: u64, hindered: &[(u64, u64)]) -> u64 {
    let mut hindered = hindered.to_vec();
    hindered.sort_unstable();
    let put_off =
        |by: u64, (from, to): &(u64, u64)| if *from <= by { by.max(to + HEARD_WITHIN_MS) } else { by };
    hindered.iter().fold(stopped_ms + HEARD_WITHIN_MS, put_off)
}
