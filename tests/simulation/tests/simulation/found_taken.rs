//! Plans that broke a promise once about runs that are taken from a process which is still there, where two share a day.
//! Not here: the other plans that did (`found`).

use ars_tests_simulation::{Evidence, Fault, Plan, RunSeen, Story, What, Whose, play, violations};

/// By how many calls a plan is moved: what it is about moves when the story makes some calls more or less.
const MOVED: i64 = 9;

/// Plays a plan at every place around its own. Each keeps all promises, and what it is about comes about in one of them.
fn comes_about(faults: &[(u64, What)], is_so: impl Fn(&Evidence) -> bool) {
    let mut times = 0;
    for by in -MOVED..=MOVED {
        let moved = |(at, what): &(u64, What)| Fault { at: at.saturating_add_signed(by), what: what.clone() };
        let plan = Plan { faults: faults.iter().map(moved).collect(), ..Plan::default() }.of(Story::Shared);
        let (ended, evidence) = play(&plan);
        assert_eq!(violations(ended, &evidence), [], "{plan:?}\n{}", evidence.tail());
        times += u32::from(is_so(&evidence));
    }
    assert!(times > 0, "not what this plan is about: {faults:?}");
}

/// What processes were told that the run's model calls have cost.
fn told(run: &RunSeen, evidence: &Evidence) -> u64 {
    let its = evidence.thoughts.iter().filter(|thought| thought.about.first() == run.request.as_ref());
    its.flat_map(|thought| &thought.told).map(|(_, cost)| cost).sum()
}

fn recorded(run: &RunSeen) -> Option<u64> {
    run.record.as_ref()?["costMicroUsd"].as_u64()
}

#[test]
fn a_process_that_gets_its_own_run_back_knows_no_more_of_its_cost_than_another_would() {
    let faults = [
        (94, What::Stall { ms: 94_523 }),
        (177, What::Kill { after: false, idle_ms: 23_414 }),
        (185, What::Stall { ms: 24_143 }),
        (242, What::Jump { whose: Whose::Process, ms: 20_091 }),
    ];
    comes_about(&faults, |evidence| {
        let mut back = evidence.runs.values().filter(|run| run.takers == ["g2", "g1"]);
        back.any(|run| recorded(run).is_some_and(|cost| cost < told(run, evidence)))
    });
}

#[test]
fn a_run_keeps_to_its_cap_by_what_is_stored_of_its_cost_when_its_process_gets_it_back() {
    let faults = [
        (2, What::FollowUp { through_eldest: false }),
        (75, What::Outage { after: false, ms: 33_584 }),
        (233, What::Stall { ms: 39_377 }),
        (262, What::Kill { after: true, idle_ms: 38_537 }),
    ];
    comes_about(&faults, |evidence| {
        let mut back = evidence.runs.values().filter(|run| run.takers == ["g1", "g2"]);
        back.any(|run| run.cap.is_some_and(|cap| told(run, evidence) > cap))
    });
}

#[test]
fn a_process_that_reads_that_its_run_is_anothers_does_not_reply_when_the_stores_hang() {
    // The leases lapse at once, and the stores hang before the run's next heartbeat.
    let faults = [
        (55, What::Stop { mode: ars_types::StopMode::Soft, through_eldest: true }),
        (120, What::Jump { whose: Whose::Store, ms: 83_549 }),
        (145, What::Hang { after: true, ms: 44_139 }),
    ];
    comes_about(&faults, |evidence| {
        let mut taken = evidence.runs.iter().filter(|(_, run)| run.takers == ["g2"]);
        taken.any(|(id, run)| {
            let said = evidence.said.iter().filter(|said| said.run.as_ref() == Some(id));
            let through: Vec<_> = said.map(|said| said.through.as_str()).collect();
            run.claimed.as_ref().is_some_and(|(_, by)| by == "g1") && through == ["g2"]
        })
    });
}
