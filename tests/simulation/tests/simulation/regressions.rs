//! Regression plans: each once broke a guarantee.

use ars_types::StopMode;

use ars_tests_simulation::{
    ClockOwner, Ended, Evidence, Fault, FaultKind, Plan, RunSeen, Story, play, violations,
};

/// Longer than a lease, and than another process needs to resume the run.
const STALL_MS: u64 = 86_000;

fn kept(story: Story, faults: &[(u64, FaultKind)]) -> Evidence {
    let (ended, evidence) = shifted(story, faults, 0);
    assert_eq!(ended, Ended::Quiet);
    evidence
}

/// Plays a plan with the faults at other calls. No guarantee may break.
fn shifted(story: Story, faults: &[(u64, FaultKind)], by: i64) -> (Ended, Evidence) {
    let moved = |(at, kind): &(u64, FaultKind)| Fault {
        at: at.saturating_add_signed(by).max(1),
        kind: kind.clone(),
    };
    let plan = Plan {
        faults: faults.iter().map(moved).collect(),
        ..Plan::default()
    }
    .in_story(story);
    let (ended, evidence) = play(&plan);
    assert_eq!(
        violations(ended, &evidence),
        [],
        "{plan:?}\n{}",
        evidence.tail()
    );
    (ended, evidence)
}

/// How far a plan is shifted, because the relevant call moves when a story has more or fewer calls.
const MOVED: i64 = 9;

/// Plays a plan at every shift. No guarantee may break, and the situation must occur at least once.
fn comes_about(story: Story, faults: &[(u64, FaultKind)], is_so: impl Fn(&Evidence) -> bool) {
    let times = (-MOVED..=MOVED)
        .filter(|by| is_so(&shifted(story, faults, *by).1))
        .count();
    assert!(times > 0, "the situation never occurred: {faults:?}");
}

#[test]
fn unconfirmed_claim_still_reads_the_inbox() {
    let faults = [
        (
            2,
            FaultKind::Outage {
                after: true,
                ms: 3_206,
            },
        ),
        (6, FaultKind::Second),
        (
            39,
            FaultKind::FollowUp {
                through_eldest: false,
            },
        ),
    ];
    let evidence = kept(Story::Canonical, &faults);
    // Both follow-ups went through the second process and reached the first's run.
    assert_eq!(
        evidence
            .passed_on
            .values()
            .filter(|passed_on| passed_on.through == "g2")
            .count(),
        2
    );
    let claimed = evidence.runs.values().filter(|run| run.is_claimed).count();
    assert_eq!(
        (claimed, evidence.delivered[0].text.as_str()),
        (1, "Done. Heard: m0 f1 f2")
    );
}

#[test]
fn stalled_process_does_not_reclaim_its_own_run() {
    let mut went_back = 0;
    let mut broken = Vec::new();
    for at in (20..72).step_by(3) {
        for later in 8..18 {
            let faults = [
                Fault {
                    at,
                    kind: FaultKind::Second,
                },
                Fault {
                    at: at + 2,
                    kind: FaultKind::Stall { ms: STALL_MS },
                },
                Fault {
                    at: at + later,
                    kind: FaultKind::Kill {
                        after: true,
                        idle_ms: STALL_MS,
                    },
                },
            ];
            let plan = Plan {
                faults: faults.into(),
                ..Plan::default()
            };
            let (ended, evidence) = play(&plan);
            let found = violations(ended, &evidence);
            if !found.is_empty() {
                broken.push(format!("{plan:?}: {found:#?}"));
            }
            let mut drivers: Vec<_> = evidence
                .effects
                .iter()
                .map(|effect| effect.process.as_str())
                .collect();
            drivers.dedup();
            went_back += usize::from(drivers == ["g1", "g2", "g1"]);
        }
    }
    assert!(broken.is_empty(), "{}\n{}", broken.len(), broken.join("\n"));
    assert!(
        went_back > 0,
        "no run went from the first process to the second and back"
    );
}

#[test]
fn tool_result_is_published_once() {
    let faults = [58, 68].map(|at| {
        (
            at,
            FaultKind::Kill {
                after: true,
                idle_ms: 45_000,
            },
        )
    });
    comes_about(Story::Canonical, &faults, |evidence| {
        let record = evidence
            .runs
            .values()
            .next()
            .and_then(|run| run.record.as_ref());
        let events = record.and_then(|record| record["events"].as_array());
        events.is_some_and(|events| {
            events
                .iter()
                .filter(|event| event["kind"] == "resumed")
                .count()
                == 2
        })
    });
}

#[test]
fn late_permit_is_not_recorded_as_a_reply() {
    let faults = [
        (3, FaultKind::Second),
        (13, FaultKind::Repeat),
        (
            37,
            FaultKind::Outage {
                after: false,
                ms: 5_671,
            },
        ),
        (47, FaultKind::Late { ms: 14_714 }),
        (58, FaultKind::Repeat),
    ];
    shifted(Story::Reviewed, &faults, 0);
}

#[test]
fn run_started_in_an_outage_continues() {
    // The transcript has no owner yet and would reject its own process.
    let evidence = kept(
        Story::Canonical,
        &[(
            7,
            FaultKind::Outage {
                after: false,
                ms: 3_000,
            },
        )],
    );
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(run.record.as_ref().unwrap()["status"], "completed");
    assert_eq!((evidence.runs.len(), evidence.delivered.len()), (1, 1));
}

#[test]
fn rejected_follow_up_is_quoted_to_its_sender() {
    let follow_up = |through_eldest| FaultKind::FollowUp { through_eldest };
    let faults = [
        (11, FaultKind::Second),
        (39, follow_up(false)),
        (49, follow_up(true)),
    ];
    comes_about(Story::Reviewed, &faults, |evidence| {
        evidence.returned == ["f1"]
    });
}

#[test]
fn follow_up_during_closing_is_kept() {
    let faults = [
        (
            4,
            FaultKind::Jump {
                whose: ClockOwner::Store,
                ms: 13_672,
            },
        ),
        (
            5,
            FaultKind::Hang {
                after: true,
                ms: 17_036,
            },
        ),
        (
            44,
            FaultKind::Kill {
                after: false,
                idle_ms: 33_318,
            },
        ),
        (
            53,
            FaultKind::Kill {
                after: false,
                idle_ms: 8_152,
            },
        ),
        (
            54,
            FaultKind::FollowUp {
                through_eldest: true,
            },
        ),
    ];
    comes_about(Story::Reviewed, &faults, |evidence| {
        let mut statuses = evidence
            .runs
            .values()
            .filter_map(|run| run.record.as_ref())
            .map(|record| &record["status"]);
        evidence
            .delivered
            .last()
            .is_some_and(|delivered| delivered.text.ends_with("Heard: f1"))
            && statuses.any(|status| status != "completed")
    });
}

#[test]
fn unanswered_reflection_cost_is_recorded() {
    let faults = [
        (
            27,
            FaultKind::Hang {
                after: true,
                ms: 43_949,
            },
        ),
        (87, FaultKind::Stall { ms: 118_878 }),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        let costs = evidence
            .runs
            .values()
            .filter_map(|run| run.record.as_ref()?["reflectionMicroUsd"].as_u64());
        costs.filter(|cost| *cost > 0).count() == 1
    });
}

#[test]
fn unconfirmed_reclaim_closes_with_its_reservation() {
    let faults = [
        (
            4,
            FaultKind::Jump {
                whose: ClockOwner::Process,
                ms: -78_984,
            },
        ),
        (35, FaultKind::Deploy),
        (37, FaultKind::Deploy),
        (
            45,
            FaultKind::Outage {
                after: true,
                ms: 35_739,
            },
        ),
        (56, FaultKind::Undelivered),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        let records = evidence.runs.values().filter_map(|run| run.record.as_ref());
        let held = records
            .filter(|record| record["costMicroUsd"].is_null() && record["heldMicroUsd"] == 130_000);
        held.count() == 1
    });
}

#[test]
fn late_stop_keeps_the_exhausted_budget_outcome() {
    let faults = [
        (71, FaultKind::Undelivered),
        (106, FaultKind::Undelivered),
        (
            113,
            FaultKind::Stop {
                mode: StopMode::Soft,
                through_eldest: false,
            },
        ),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence
            .stops
            .first()
            .is_some_and(|stop| stop.is_stored && stop.is_late)
    });
}

#[test]
fn process_resuming_in_an_outage_may_reply_twice() {
    // The lease has expired, but no store can report that, so it replies without a permit.
    let faults = [
        (75, FaultKind::Repeat),
        (124, FaultKind::Stall { ms: 84_756 }),
        (190, FaultKind::Deploy),
        (
            198,
            FaultKind::Hang {
                after: true,
                ms: 28_783,
            },
        ),
    ];
    let (_, evidence) = shifted(Story::Shared, &faults, 0);
    let to_m7 = evidence
        .delivered
        .iter()
        .filter(|delivered| delivered.to == "m7");
    let delivered: Vec<_> = to_m7
        .map(|delivered| (delivered.through.as_str(), delivered.is_without_permit))
        .collect();
    assert_eq!(delivered, [("g1", false), ("g2", true)]);
}

#[test]
fn run_abandoned_by_its_reclaimer_keeps_its_state() {
    // The first process is killed after its turns: the last result was never flushed, and the next process records it.
    let faults = [
        (
            44,
            FaultKind::Jump {
                whose: ClockOwner::Store,
                ms: -69_584,
            },
        ),
        (57, FaultKind::Repeat),
        (
            100,
            FaultKind::Kill {
                after: true,
                idle_ms: 32_437,
            },
        ),
        (105, FaultKind::Deploy),
        (
            154,
            FaultKind::Jump {
                whose: ClockOwner::Process,
                ms: -105_855,
            },
        ),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence
            .runs
            .values()
            .filter(|run| run.reclaimers == ["g2", "g3"])
            .count()
            == 1
    });
}

#[test]
fn exhausted_budget_before_a_stop_wins() {
    // A stop through another process arrives with the next heartbeat, after the driver's last call.
    let faults = [
        (22, FaultKind::Second),
        (
            116,
            FaultKind::Stop {
                mode: StopMode::Soft,
                through_eldest: true,
            },
        ),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        evidence.stops.first().is_some_and(|stop| {
            let run = &evidence.runs[&stop.run];
            stop.is_stored && !stop.is_late && run.record.as_ref().unwrap()["status"] == "completed"
        })
    });
}

#[test]
fn run_killed_between_permit_and_reply_is_not_completed() {
    // The claim took effect without a response: it requests the permit and stores no step.
    let faults = [
        (
            5,
            FaultKind::Hang {
                after: true,
                ms: 43_070,
            },
        ),
        (39, FaultKind::Late { ms: 70_675 }),
        (
            49,
            FaultKind::Kill {
                after: false,
                idle_ms: 38_516,
            },
        ),
    ];
    comes_about(Story::Bounded, &faults, |evidence| {
        let mut left = evidence
            .runs
            .values()
            .filter(|run| run.steps.is_empty() && !run.ending.is_empty());
        left.any(|run| {
            run.record
                .as_ref()
                .is_some_and(|record| record["status"] == "interrupted")
        })
    });
}

#[test]
fn resumed_review_emits_one_reading_diff() {
    let faults = [
        (
            22,
            FaultKind::Outage {
                after: false,
                ms: 38_323,
            },
        ),
        (46, FaultKind::Second),
        (50, FaultKind::Late { ms: 57_942 }),
        (
            60,
            FaultKind::Kill {
                after: true,
                idle_ms: 14_193,
            },
        ),
    ];
    comes_about(Story::Reviewed, &faults, |evidence| {
        evidence
            .runs
            .values()
            .any(|run| run.reclaimers == ["g2"] && run.ending.len() == 2)
    });
}

/// Returns the reported cost for the run's model calls.
fn reported(run: &RunSeen, evidence: &Evidence) -> u64 {
    let its = evidence
        .model_calls
        .iter()
        .filter(|model_call| model_call.about.first() == run.request.as_ref());
    its.flat_map(|model_call| &model_call.reported)
        .map(|(_, cost)| cost)
        .sum()
}

fn recorded(run: &RunSeen) -> Option<u64> {
    run.record.as_ref()?["costMicroUsd"].as_u64()
}

#[test]
fn reclaimed_own_run_has_only_its_stored_cost() {
    let faults = [
        (94, FaultKind::Stall { ms: 94_523 }),
        (
            177,
            FaultKind::Kill {
                after: false,
                idle_ms: 23_414,
            },
        ),
        (185, FaultKind::Stall { ms: 24_143 }),
        (
            242,
            FaultKind::Jump {
                whose: ClockOwner::Process,
                ms: 20_091,
            },
        ),
    ];
    comes_about(Story::Shared, &faults, |evidence| {
        let mut back = evidence
            .runs
            .values()
            .filter(|run| run.reclaimers == ["g2", "g1"]);
        back.any(|run| recorded(run).is_some_and(|cost| cost < reported(run, evidence)))
    });
}

#[test]
fn reclaimed_own_run_respects_its_cap() {
    let faults = [
        (
            2,
            FaultKind::FollowUp {
                through_eldest: false,
            },
        ),
        (
            75,
            FaultKind::Outage {
                after: false,
                ms: 33_584,
            },
        ),
        (233, FaultKind::Stall { ms: 39_377 }),
        (
            262,
            FaultKind::Kill {
                after: true,
                idle_ms: 38_537,
            },
        ),
    ];
    comes_about(Story::Shared, &faults, |evidence| {
        let mut back = evidence
            .runs
            .values()
            .filter(|run| run.reclaimers == ["g1", "g2"]);
        back.any(|run| run.cap.is_some_and(|cap| reported(run, evidence) > cap))
    });
}

#[test]
fn fenced_process_does_not_reply_in_an_outage() {
    // The leases expire at once, and the stores hang before the run's next heartbeat.
    let faults = [
        (
            55,
            FaultKind::Stop {
                mode: StopMode::Soft,
                through_eldest: true,
            },
        ),
        (
            120,
            FaultKind::Jump {
                whose: ClockOwner::Store,
                ms: 83_549,
            },
        ),
        (
            145,
            FaultKind::Hang {
                after: true,
                ms: 44_139,
            },
        ),
    ];
    comes_about(Story::Shared, &faults, |evidence| {
        let mut taken = evidence
            .runs
            .iter()
            .filter(|(_, run)| run.reclaimers == ["g2"]);
        taken.any(|(id, run)| {
            let delivered = evidence
                .delivered
                .iter()
                .filter(|delivered| delivered.run.as_ref() == Some(id));
            let through: Vec<_> = delivered
                .map(|delivered| delivered.through.as_str())
                .collect();
            run.claimed.as_ref().is_some_and(|(_, by)| by == "g1") && through == ["g2"]
        })
    });
}
