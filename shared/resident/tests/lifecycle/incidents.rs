//! Incidents in similar systems that the lifecycle rules out.

use ars_resident::lifecycle::{Admission, Failure, Input, Output, StateWord, Step};
use ars_resident::names::BackupId;

use crate::world::{MINUTE, SECOND, World, failure};

/// A cycle in progress is a stored row with a lease, so no code has to survive to continue it.
#[test]
fn crash_at_every_step_ends_warm() {
    let mut steps = std::collections::BTreeSet::new();
    for crash_after in 0..40 {
        let mut world = World::new();
        world.onboard();
        let mut ended = 0;
        let mut crash_once = |world: &mut World, at: i32| {
            if world.running.is_some() {
                ended += 1;
                if ended == at {
                    let (_, step) = world.running.unwrap();
                    steps.insert(step);
                    // The step had its effect, and its answer is lost with the object.
                    let _ = world.work(step);
                    world.crash();
                }
            }
        };
        for _ in 0..200 {
            crash_once(&mut world, crash_after);
            if world.running.is_some() {
                world.finish();
            } else {
                world.tick();
            }
            if world
                .resident
                .facts()
                .is_some_and(|facts| facts.stamp.sha != crate::world::sha(1))
            {
                break;
            }
            if world.state() == StateWord::Warm {
                world.host = 6;
            }
        }
        assert_eq!(
            world.state(),
            StateWord::Warm,
            "crash {crash_after}: {}",
            world.reason()
        );
    }
    assert!(steps.len() > 15, "{steps:?}");
}

#[test]
fn lost_answer_is_replaced_after_the_lease() {
    let mut world = World::warm();
    world.run_to(Step::Fetch);
    world.running = None;
    world.run_until(|world| world.state() == StateWord::Warm);
}

#[test]
fn failed_mint_does_not_end_a_cycle() {
    for _ in 0..3 {
        let mut world = World::warm();
        world.run_to(Step::Mint);
        world.fail(failure("HTTP 500"));
        assert_eq!(world.running.map(|(_, step)| step), Some(Step::Fetch));
    }
}

/// Only reasons that a refresh produced count towards parking.
#[test]
fn reason_of_the_watchdog_is_not_parked() {
    let mut world = World::warm();
    for _ in 0..6 {
        world.now += 61 * MINUTE;
        world.apply(Input::KillRefresh);
        world.watchdog();
        world.tick();
        world.finish();
        assert_eq!(world.resident.idle_since(), None);
        assert_eq!(world.state(), StateWord::Refreshing);
        world.fail(Failure {
            exit_code: Some(143),
            ..Failure::default()
        });
    }
}

#[test]
fn repeated_failure_is_parked() {
    let mut world = World::warm();
    for _ in 0..12 {
        if world.resident.idle_since().is_some() {
            break;
        }
        world.tick();
        world.finish();
        if world.state() == StateWord::Refreshing {
            world.run_to(Step::Fetch);
            world.fail(failure("could not resolve host"));
        }
    }
    assert!(world.resident.idle_since().is_some());
    assert_eq!(world.alarm, Some(world.now + 360 * MINUTE));
    world.attach();
    assert_eq!(
        world.alarm,
        Some(world.now + SECOND),
        "an attach ends the parking"
    );
}

/// A deployment that kills a build is no repository failure.
#[test]
fn killed_refresh_is_repeated_soon_three_times() {
    let mut world = World::warm();
    for round in 1..=4 {
        world.run_to(Step::Fetch);
        world.fail(Failure {
            exit_code: Some(143),
            ..Failure::default()
        });
        assert!(
            world.reason().starts_with("refresh-interrupted: "),
            "{}",
            world.reason()
        );
        let delay = if round <= 3 { 45 * SECOND } else { 10 * MINUTE };
        assert_eq!(world.alarm, Some(world.now + delay), "round {round}");
    }
}

/// A slow restore with arriving bytes is not abandoned before the deadline.
#[test]
fn arriving_bytes_keep_a_restore_alive() {
    let mut world = World::warm();
    world.stop_runtime();
    world.attach();
    world.run_to(Step::RestoreMirror);
    let (attempt, step) = world.running.unwrap();
    for round in 1..=8_u64 {
        world.now += 60 * SECOND;
        world.apply(Input::Progress {
            attempt,
            bytes: round,
        });
        world.apply(Input::AlarmFired);
    }
    assert_eq!(world.running, Some((attempt, step)), "481 s are no failure");
    assert_eq!(
        world.attach(),
        Admission::Wait,
        "a second request starts no second restore"
    );
    assert_eq!(world.running, Some((attempt, step)));
    for round in 9..=30_u64 {
        world.now += 60 * SECOND;
        world.apply(Input::Progress {
            attempt,
            bytes: round,
        });
        world.apply(Input::AlarmFired);
    }
    assert!(
        world.reason().contains("deadline of 25 minutes"),
        "{}",
        world.reason()
    );
}

/// Dependencies can be installed later, so their archive never costs a cycle.
#[test]
fn archive_of_dependencies_fails_no_cycle() {
    // A transfer that stalls is given up.
    let mut world = World::warm();
    world.stop_runtime();
    world.attach();
    world.run_to(Step::AdoptDeps);
    world.now += 121 * SECOND;
    world.apply(Input::AlarmFired);
    assert!(world.kinds().contains("cancel"));
    assert_eq!(world.running.map(|(_, step)| step), Some(Step::Mark));
    world.run_until(|world| world.state() == StateWord::Warm);

    // The restore's deadline ends a restore that is too slow, and not this restore.
    world.stop_runtime();
    world.attach();
    world.run_to(Step::AdoptDeps);
    for minute in 1..=26_u64 {
        if let Some((attempt, Step::AdoptDeps)) = world.running {
            world.now += MINUTE;
            world.apply(Input::Progress {
                attempt,
                bytes: minute,
            });
            world.apply(Input::AlarmFired);
        }
    }
    assert_eq!(
        world.running.map(|(_, step)| step),
        Some(Step::Mark),
        "{}",
        world.reason()
    );
    world.run_until(|world| world.state() == StateWord::Warm);

    // When the object storage fails, an installation follows.
    world.apply(Input::Rebuild);
    world.run_to(Step::AdoptDeps);
    world.fail(failure("HTTP 503"));
    assert_eq!(world.running.map(|(_, step)| step), Some(Step::Install));
    world.run_until(|world| world.state() == StateWord::Warm);
}

/// The count begins anew when the archive has arrived and the content is extracted.
#[test]
fn any_change_of_the_bytes_is_progress() {
    let mut world = World::warm();
    world.stop_runtime();
    world.attach();
    world.run_to(Step::RestoreMirror);
    let (attempt, _) = world.running.unwrap();
    for bytes in [900, 3, 7, 900] {
        world.now += 119 * SECOND;
        world.apply(Input::Progress { attempt, bytes });
        world.apply(Input::AlarmFired);
        assert_eq!(world.state(), StateWord::Restoring, "{bytes}");
    }
    world.now += 61 * SECOND;
    world.apply(Input::Progress {
        attempt,
        bytes: 900,
    });
    world.now += 60 * SECOND;
    world.apply(Input::AlarmFired);
    assert!(
        world.reason().contains("no bytes arrived for 120 s"),
        "{}",
        world.reason()
    );
}

/// The input that makes a resident `down` also cancels its restore stream.
#[test]
fn abandoned_restore_is_cancelled() {
    let mut world = World::warm();
    world.stop_runtime();
    world.attach();
    world.run_to(Step::RestoreCheckout);
    let old = world.running.unwrap().0;
    world.now += 121 * SECOND;
    world.tick();
    assert_eq!(world.state(), StateWord::Down);
    assert!(world.kinds().contains("cancel") && world.kinds().contains("stop"));
    let before = world.resident.status();
    world.apply(Input::StepEnded {
        attempt: old,
        result: Ok(Output::Done),
    });
    assert_eq!(
        world.resident.status(),
        before,
        "a late answer changes no state"
    );
}

#[test]
fn backups_of_an_old_attempt_are_deleted() {
    let mut world = World::warm();
    world.host = 5;
    world.run_to(Step::Snapshot);
    let (attempt, _) = world.running.unwrap();
    world.apply(Input::ForceDown {
        cause: ars_resident::lifecycle::DownCause::RestoreFailed,
        detail: "forced".to_owned(),
    });
    let [mirror, checkout] = ["late-m", "late-c"].map(|id| BackupId::parse(id).unwrap());
    world.objects.insert(mirror.clone(), crate::world::sha(5));
    world.apply(Input::StepEnded {
        attempt,
        result: Ok(Output::Uploaded {
            mirror: mirror.clone(),
            checkout,
        }),
    });
    assert!(!world.objects.contains_key(&mirror));
}

#[test]
fn older_image_is_replaced_when_idle() {
    let mut world = World::warm();
    world.is_image_current = false;
    world.in_flight = 1;
    world.tick();
    world.finish();
    assert_eq!(
        world.state(),
        StateWord::Refreshing,
        "operations in flight are not interrupted"
    );
    world.run_until(|world| world.state() == StateWord::Warm);
    world.in_flight = 0;
    world.tick();
    world.finish();
    assert!(world.kinds().contains("stop") && world.alarm == Some(world.now + 45 * SECOND));
}

/// An installation that was interrupted continues, because the marker survives the cycle.
#[test]
fn interrupted_installation_is_resumed() {
    let mut world = World::warm();
    world.host = 7;
    world.run_to(Step::Install);
    let found = world
        .resident
        .cycle()
        .and_then(|cycle| cycle.lockfile_key())
        .cloned();
    world.runtime.as_mut().unwrap().markers.deps_installing = found;
    world.fail(Failure {
        exit_code: Some(143),
        ..Failure::default()
    });
    world.run_to(Step::Install);
    assert!(
        world
            .runtime
            .as_ref()
            .unwrap()
            .markers
            .deps_installing
            .is_some()
    );
    world.run_until(|world| world.state() == StateWord::Warm);
}

#[test]
fn full_disk_is_not_recorded_as_an_unreachable_host() {
    let mut world = World::warm();
    world.run_to(Step::Fetch);
    world.fail(Failure {
        exit_code: Some(4),
        free_kib: Some(100),
        ..Failure::default()
    });
    assert!(world.reason().starts_with("disk-full: "));
    assert!(matches!(world.attach(), Admission::Reject(_)));
}

#[test]
fn reason_hides_secrets() {
    let token = format!("ghp_{}", "a1".repeat(18));
    let mut world = World::warm();
    world.run_to(Step::Fetch);
    world.fail(failure(&format!("fatal: https://x:{token}@host\u{1b}[31m")));
    assert!(
        !world.reason().contains(&token) && !world.reason().contains('\u{1b}'),
        "{}",
        world.reason()
    );
}
