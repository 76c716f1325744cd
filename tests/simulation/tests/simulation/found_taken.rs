//! Regression plans of runs that are reclaimed from a live process, where two processes share a day. Not here: other
//! regressions (`found`).

use ars_tests_simulation::{ClockOwner, Evidence, Fault, FaultKind, Plan, RunSeen, Story, play, violations};

/// Range of shifts of a plan, because the relevant call moves when the story changes its number of calls.
const MOVED: i64 = 9;

/// Plays a plan at every shift. No guarantee may break, and the situation must occur in at least one.
fn comes_about(faults: &[(u64, FaultKind)], is_so: impl Fn(&Evidence) -> bool) {
    let mut times = 0;
    for by in -MOVED..=MOVED {
        let moved =
            |(at, kind): &(u64, FaultKind)| Fault { at: at.saturating_add_signed(by), kind: kind.clone() };
        let plan = Plan { faults: faults.iter().map(moved).collect(), ..Plan::default() }.of(Story::Shared);
        let (ended, evidence) = play(&plan);
        assert_eq!(violations(ended, &evidence), [], "{plan:?}\n{}", evidence.tail());
        times += u32::from(is_so(&evidence));
    }
    assert!(times > 0, "the situation never occurred: {faults:?}");
}

/// Returns the reported cost of the run's model calls.
fn reported(run: &RunSeen, evidence: &Evidence) -> u64 {
    let its =
        evidence.model_calls.iter().filter(|model_call| model_call.about.first() == run.request.as_ref());
    its.flat_map(|model_call| &model_call.reported).map(|(_, cost)| cost).sum()
}

fn recorded(run: &RunSeen) -> Option<u64> {
    run.record.as_ref()?["costMicroUsd"].as_u64()
}

#[test]
fn reclaimed_own_run_has_only_its_stored_cost() {
    let faults = [
        (94, FaultKind::Stall { ms: 94_523 }),
        (177, FaultKind::Kill { after: false, idle_ms: 23_414 }),
        (185, FaultKind::Stall { ms: 24_143 }),
        (242, FaultKind::Jump { whose: ClockOwner::Process, ms: 20_091 }),
    ];
    comes_about(&faults, |evidence| {
        let mut back = evidence.runs.values().filter(|run| run.reclaimers == ["g2", "g1"]);
        back.any(|run| recorded(run).is_some_and(|cost| cost < reported(run, evidence)))
    });
}

#[test]
fn reclaimed_own_run_respects_its_cap() {
    let faults = [
        (2, FaultKind::FollowUp { through_eldest: false }),
        (75, FaultKind::Outage { after: false, ms: 33_584 }),
        (233, FaultKind::Stall { ms: 39_377 }),
        (262, FaultKind::Kill { after: true, idle_ms: 38_537 }),
    ];
    comes_about(&faults, |evidence| {
        let mut back = evidence.runs.values().filter(|run| run.reclaimers == ["g1", "g2"]);
        back.any(|run| run.cap.is_some_and(|cap| reported(run, evidence) > cap))
    });
}

#[test]
fn fenced_process_does_not_reply_in_an_outage() {
    // The leases expire at once, and the stores hang before the run's next heartbeat.
    let faults = [
        (55, FaultKind::Stop { mode: ars_types::StopMode::Soft, through_eldest: true }),
        (120, FaultKind::Jump { whose: ClockOwner::Store, ms: 83_549 }),
        (145, FaultKind::Hang { after: true, ms: 44_139 }),
    ];
    comes_about(&faults, |evidence| {
        let mut taken = evidence.runs.iter().filter(|(_, run)| run.reclaimers == ["g2"]);
        taken.any(|(id, run)| {
            let delivered = evidence.delivered.iter().filter(|delivered| delivered.run.as_ref() == Some(id));
            let through: Vec<_> = delivered.map(|delivered| delivered.through.as_str()).collect();
            run.claimed.as_ref().is_some_and(|(_, by)| by == "g1") && through == ["g2"]
        })
    });
}
