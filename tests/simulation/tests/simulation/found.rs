//! Plans that broke a promise once, each with what it was about.

use ars_types::StopMode;

use ars_tests_simulation::{Ended, Evidence, Fault, Plan, Story, What, Whose, play, violations};

/// Longer than a lease, and than it takes another process to get on with the run.
const STANDSTILL_MS: u64 = 86_000;

fn kept(faults: &[(u64, What)]) -> Evidence {
    let faults = faults.iter().map(|(at, what)| Fault { at: *at, what: what.clone() }).collect();
    let plan = Plan { faults, ..Plan::default() };
    let (ended, evidence) = play(&plan);
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
    assert_eq!(ended, Ended::Quiet);
    evidence
}

/// By how many calls a plan is moved: what it is about moves when a story makes some calls more or less.
const MOVED: i64 = 9;

/// Plays a plan at every place around its own. Each keeps all promises, and what it is about comes about in one of them.
fn comes_about(story: Story, faults: &[(u64, What)], is_so: impl Fn(&Evidence) -> bool) {
    let moved_by = |by: i64| {
        let faults = faults
            .iter()
            .map(|(at, what)| Fault { at: at.saturating_add_signed(by).max(1), what: what.clone() });
        Plan { faults: faults.collect(), ..Plan::default() }.of(story)
    };
    let mut times = 0;
    for by in -MOVED..=MOVED {
        let plan = moved_by(by);
        let (ended, evidence) = play(&plan);
        assert_eq!(violations(ended, &evidence), [], "{plan:?}\n{}", evidence.tail());
        times += u32::from(is_so(&evidence));
    }
    assert!(times > 0, "not what this plan is about: {faults:?}");
}

#[test]
fn a_run_whose_claim_was_not_answered_reads_what_others_leave_for_it() {
    let faults = [
        (2, What::Outage { after: true, ms: 3_206 }),
        (6, What::Second),
        (39, What::FollowUp { through_eldest: false }),
    ];
    let evidence = kept(&faults);
    // Both follow-ups went through the second process, and the run that the first one drives was told of them.
    assert_eq!(evidence.passed_on.values().filter(|passed_on| passed_on.through == "g2").count(), 2);
    let claimed = evidence.runs.values().filter(|run| run.is_claimed).count();
    assert_eq!((claimed, evidence.said[0].text.as_str()), (1, "Done. Heard: m0 f1 f2"));
}

#[test]
fn a_process_that_stood_still_takes_no_run_over_that_it_is_still_at_work_on() {
    let (mut went_back, mut broken) = (0, Vec::new());
    for at in (20..72).step_by(3) {
        for later in 8..18 {
            let faults = [
                Fault { at, what: What::Second },
                Fault { at: at + 2, what: What::Stall { ms: STANDSTILL_MS } },
                Fault { at: at + later, what: What::Kill { after: true, idle_ms: STANDSTILL_MS } },
            ];
            let plan = Plan { faults: faults.into(), ..Plan::default() };
            let (ended, evidence) = play(&plan);
            let found = violations(ended, &evidence);
            if !found.is_empty() {
                broken.push(format!("{plan:?}: {found:#?}"));
            }
            let mut drivers: Vec<_> = evidence.effects.iter().map(|effect| effect.process.as_str()).collect();
            drivers.dedup();
            went_back += usize::from(drivers == ["g1", "g2", "g1"]);
        }
    }
    assert!(broken.is_empty(), "{}\n{}", broken.len(), broken.join("\n"));
    assert!(went_back > 0, "no run went from the first process to the second and back");
}

#[test]
fn a_result_is_told_once_by_all_the_processes_that_settle_its_call() {
    let faults = [58, 68].map(|at| (at, What::Kill { after: true, idle_ms: 45_000 }));
    let evidence = kept(&faults);
    let record = evidence.runs.values().next().unwrap().record.as_ref().unwrap();
    let resumed = record["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "resumed");
    assert_eq!(resumed.count(), 2);
}

#[test]
fn a_run_that_was_stopped_while_it_was_being_taken_over_stays_stopped() {
    let faults = [
        (71, What::Kill { after: false, idle_ms: 21_045 }),
        (80, What::Stop { mode: StopMode::Soft, through_eldest: true }),
        (80, What::Hang { after: false, ms: 27_171 }),
    ];
    let evidence = kept(&faults);
    let stop = &evidence.stops[0];
    assert!(!stop.is_stored && stop.owner.as_deref() == Some("g2"), "{stop:?}");
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(run.record.as_ref().unwrap()["status"], "stopped_soft");
}

#[test]
fn a_process_that_leaves_in_an_outage_first_tells_of_the_reply_it_gave_without_leave() {
    let faults = [
        (6, What::Stop { mode: StopMode::Soft, through_eldest: false }),
        (12, What::Outage { after: false, ms: 29_411 }),
        (38, What::Deploy),
    ];
    let evidence = kept(&faults);
    let said: Vec<_> =
        evidence.said.iter().map(|said| (said.through.as_str(), said.is_without_leave)).collect();
    assert_eq!(said, [("g1", true)]);
}

#[test]
fn a_run_whose_leave_to_reply_was_given_late_is_not_said_to_have_replied() {
    let faults = [
        (3, What::Second),
        (13, What::Repeat),
        (37, What::Outage { after: false, ms: 5_671 }),
        (47, What::Late { ms: 14_714 }),
        (58, What::Repeat),
    ];
    let faults = faults.into_iter().map(|(at, what)| Fault { at, what }).collect();
    let plan = Plan { faults, ..Plan::default() }.of(Story::Reviewed);
    let (ended, evidence) = play(&plan);
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
}

#[test]
fn a_run_whose_process_dies_before_its_first_flush_still_says_what_it_was_asked() {
    let faults = [
        (6, What::Hang { after: false, ms: 10_860 }),
        (17, What::Kill { after: false, idle_ms: 21_819 }),
        (19, What::Kill { after: false, idle_ms: 52_706 }),
        (26, What::Kill { after: true, idle_ms: 37_534 }),
    ];
    let evidence = kept(&faults);
    let record = evidence.runs.values().next().unwrap().record.as_ref().unwrap();
    assert_eq!(record["events"][0]["type"], "span_start");
    assert!(record["events"].as_array().unwrap().iter().any(|event| event["type"] == "input"));
}

#[test]
fn a_run_that_begins_in_an_outage_goes_on_when_the_stores_are_back() {
    // Its transcript was not told who writes, and would refuse its own process.
    let evidence = kept(&[(7, What::Outage { after: false, ms: 3_000 })]);
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(run.record.as_ref().unwrap()["status"], "completed");
    assert_eq!((evidence.runs.len(), evidence.said.len()), (1, 1));
}

#[test]
fn a_follow_up_whose_fresh_turn_is_refused_is_quoted_to_its_sender() {
    let follow_up = |through_eldest| What::FollowUp { through_eldest };
    let faults = [(11, What::Second), (39, follow_up(false)), (49, follow_up(true))];
    comes_about(Story::Reviewed, &faults, |evidence| evidence.handed_back == ["f1"]);
}

#[test]
fn a_follow_up_that_reaches_a_run_while_it_is_closed_is_not_forgotten() {
    let faults = [
        (4, What::Jump { whose: Whose::Store, ms: 13_672 }),
        (5, What::Hang { after: true, ms: 17_036 }),
        (44, What::Kill { after: false, idle_ms: 33_318 }),
        (53, What::Kill { after: false, idle_ms: 8_152 }),
        (54, What::FollowUp { through_eldest: true }),
    ];
    comes_about(Story::Reviewed, &faults, |evidence| {
        let mut statuses =
            evidence.runs.values().filter_map(|run| run.record.as_ref()).map(|record| &record["status"]);
        evidence.said.last().is_some_and(|said| said.text.ends_with("Heard: f1"))
            && statuses.any(|status| status != "completed")
    });
}

#[test]
fn a_record_is_written_again_with_what_a_reflection_without_an_answer_may_have_cost() {
    let faults = [(27, What::Hang { after: true, ms: 43_949 }), (87, What::Stall { ms: 118_878 })];
    comes_about(Story::Bounded, &faults, |evidence| {
        let costs =
            evidence.runs.values().filter_map(|run| run.record.as_ref()?["reflectionMicroUsd"].as_u64());
        costs.filter(|cost| *cost > 0).count() == 1
    });
}

#[test]
fn a_run_whose_takeover_was_not_answered_is_closed_with_all_it_held() {
    let faults = [
        (4, What::Jump { whose: Whose::Process, ms: -78_984 }),
        (35, What::Deploy),
        (37, What::Deploy),
        (45, What::Outage { after: true, ms: 35_739 }),
        (56, What::Undelivered),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        let records = evidence.runs.values().filter_map(|run| run.record.as_ref());
        let held =
            records.filter(|record| record["costMicroUsd"].is_null() && record["heldMicroUsd"] == 130_000);
        held.count() == 1
    });
}

#[test]
fn a_stop_that_meets_a_run_out_of_money_at_its_reply_does_not_change_how_it_ended() {
    let faults = [
        (71, What::Undelivered),
        (106, What::Undelivered),
        (113, What::Stop { mode: StopMode::Soft, through_eldest: false }),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence.stops.first().is_some_and(|stop| stop.is_stored && stop.is_late)
    });
}

#[test]
fn a_process_that_wakes_into_an_outage_replies_although_another_has_with_leave() {
    // Its lease has lapsed and nobody can tell it so: it replies as usual (state-worker supplement section 11).
    let faults = [
        (75, What::Repeat),
        (124, What::Stall { ms: 84_756 }),
        (190, What::Deploy),
        (198, What::Hang { after: true, ms: 28_783 }),
    ];
    let faults = faults.into_iter().map(|(at, what)| Fault { at, what }).collect();
    let plan = Plan { faults, ..Plan::default() }.of(Story::Shared);
    let (ended, evidence) = play(&plan);
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
    let to_m7 = evidence.said.iter().filter(|said| said.to == "m7");
    let said: Vec<_> = to_m7.map(|said| (said.through.as_str(), said.is_without_leave)).collect();
    assert_eq!(said, [("g1", false), ("g2", true)]);
}

#[test]
fn a_run_that_is_left_by_a_process_that_took_it_over_keeps_what_was_stored() {
    // The first process dies behind its turns: the result before them was told to nobody, and the record is the next one's.
    let faults = [
        (44, What::Jump { whose: Whose::Store, ms: -69_584 }),
        (57, What::Repeat),
        (100, What::Kill { after: true, idle_ms: 32_437 }),
        (105, What::Deploy),
        (154, What::Jump { whose: Whose::Process, ms: -105_855 }),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence.runs.values().filter(|run| run.takers == ["g2", "g3"]).count() == 1
    });
}

#[test]
fn a_run_that_its_money_ends_before_its_driver_hears_of_a_stop_is_not_stopped() {
    // A stop through another process is heard of with the next heartbeat, and the driver's last call takes less.
    let faults = [(22, What::Second), (116, What::Stop { mode: StopMode::Soft, through_eldest: true })];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence.stops.first().is_some_and(|stop| {
            let run = &evidence.runs[&stop.run];
            stop.is_stored && !stop.is_late && run.record.as_ref().unwrap()["status"] == "completed"
        })
    });
}

#[test]
fn a_run_without_the_ledger_that_dies_between_its_leave_and_its_reply_is_not_said_to_be_completed() {
    // Its claim took effect and was not answered: it asks for leave, and stores no step.
    let faults = [
        (5, What::Hang { after: true, ms: 43_070 }),
        (39, What::Late { ms: 70_675 }),
        (49, What::Kill { after: false, idle_ms: 38_516 }),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        let mut left = evidence.runs.values().filter(|run| run.steps.is_empty() && !run.ending.is_empty());
        left.any(|run| run.record.as_ref().is_some_and(|record| record["status"] == "interrupted"))
    });
}

#[test]
fn a_review_that_is_taken_over_at_its_answer_has_one_reading_diff() {
    let faults = [
        (22, What::Outage { after: false, ms: 38_323 }),
        (46, What::Second),
        (50, What::Late { ms: 57_942 }),
        (60, What::Kill { after: true, idle_ms: 14_193 }),
    ];
    comes_about(Story::Reviewed, &faults, |evidence| {
        evidence.runs.values().any(|run| run.takers == ["g2"] && run.ending.len() == 2)
    });
}
