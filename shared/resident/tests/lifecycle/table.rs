//! Each row in the state table, as a single transition of the simulated resident.
//!
//! The rows come from docs/reference/residents.md#states.

use ars_resident::lifecycle::{
    Action, Admission, DownCause, Failure, Input, Slot, StateWord, Step, TreesState, WatchdogAction,
};

use crate::world::{MINUTE, SECOND, TIMEOUT, World, failure, sha};

const STALE: i64 = 31 * MINUTE;

#[test]
fn onboarding_arms_start_and_deadline() {
    let mut world = World::new();
    world.onboard();
    assert_eq!(world.state(), StateWord::Onboarding);
    let schedules = world.resident.schedules();
    assert_eq!(schedules.provision_run, Some(world.now + SECOND));
    assert_eq!(schedules.provision_deadline, Some(world.now + TIMEOUT));
    assert_eq!(world.alarm, schedules.provision_run);
    let before = world.resident.clone();
    world.onboard();
    assert_eq!(
        world.resident, before,
        "a repeated request changes no state"
    );
}

#[test]
fn provisioning_ends_warm() {
    let world = World::warm();
    let snapshot = world.resident.snapshot().unwrap();
    assert_eq!((world.objects.len(), &snapshot.stamp.sha), (2, &sha(1)));
    assert_eq!(world.resident.facts().unwrap().stamp, snapshot.stamp);
    assert_eq!(world.alarm, Some(world.now + 10 * MINUTE));
    assert_eq!(world.resident.schedules().provision_deadline, None);
}

#[test]
fn failed_provisioning_keeps_the_slot() {
    let mut world = World::new();
    world.onboard();
    world.run_to(Step::Clone);
    world.fail(failure("repository not found"));
    assert_eq!(
        world.reason(),
        "provision-failed at clone: exit 1; stderr: repository not found"
    );
    assert!(
        world.has_row && world.resident.slot() == Slot::Held && world.alarm.is_none_or(|_| true)
    );
    assert_eq!(world.resident.alarm(), None);
}

#[test]
fn provisioning_past_its_budget_releases_the_slot() {
    let mut world = World::new();
    world.onboard();
    world.run_to(Step::Clone);
    world.loses_answers = true;
    world.now += TIMEOUT;
    world.tick();
    assert!(
        world.reason().starts_with("provision-timeout: "),
        "{}",
        world.reason()
    );
    assert!(!world.has_row && world.running.is_none());
    assert_eq!(
        world.resident.slot(),
        Slot::Releasing,
        "the release is repeated until it is confirmed"
    );
    world.loses_answers = false;
    world.tick();
    assert_eq!(
        (world.resident.slot(), world.resident.alarm()),
        (Slot::Released, None)
    );
}

#[test]
fn watchdog_ends_provisioning_without_a_deadline() {
    let mut world = World::warm();
    world.apply(Input::ForceOnboarding);
    world.now += TIMEOUT + 29 * SECOND;
    world.watchdog();
    assert_eq!(world.state(), StateWord::Onboarding);
    world.now += 2 * SECOND;
    assert_eq!(
        world.resident.watchdog_verdict(false, world.now),
        WatchdogAction::ProvisionTimedOut
    );
    world.watchdog();
    assert!(world.reason().starts_with("provision-timeout") && !world.has_row);
}

#[test]
fn refresh_without_a_change_only_fetches() {
    let mut world = World::warm();
    world.run_to(Step::Fetch);
    assert_eq!(world.state(), StateWord::Refreshing);
    let uploads = world.uploads;
    world.run_until(|world| world.state() == StateWord::Warm);
    assert_eq!(world.uploads, uploads);
    assert_eq!(world.resident.facts().unwrap().last_refresh_at, world.now);
}

#[test]
fn refresh_of_a_moved_branch_replaces_the_snapshot() {
    let mut world = World::warm();
    let old = world.resident.snapshot().unwrap().backups();
    world.host = 3;
    world.run_to(Step::Snapshot);
    assert!(
        old.iter().all(|id| world.objects.contains_key(id)),
        "the old snapshot serves until the end"
    );
    world.run_until(|world| world.state() == StateWord::Warm);
    assert_eq!(world.resident.facts().unwrap().stamp.sha, sha(3));
    assert!(!old.iter().any(|id| world.objects.contains_key(id)) && world.objects.len() == 2);
    assert_eq!(world.alarm, Some(world.now + 10 * MINUTE));
}

#[test]
fn failed_refresh_serves_the_last_snapshot() {
    for (step, text, reason, serves) in [
        (
            Step::Fetch,
            "could not resolve host",
            "github-unreachable: ",
            true,
        ),
        (
            Step::CheckoutUpdate,
            "bad object",
            "checkout-update-failed: ",
            true,
        ),
        (Step::Build, "error TS2304", "build-failed: ", true),
        (Step::Install, "404", "install-failed: ", true),
        (Step::Snapshot, "HTTP 503", "snapshot-failed: ", true),
        (Step::Fetch, "No space left on device", "disk-full: ", false),
    ] {
        let mut world = World::warm();
        world.host = 4;
        let snapshot = world.resident.snapshot().cloned();
        world.run_to(step);
        world.fail(failure(text));
        assert!(world.reason().starts_with(reason), "{}", world.reason());
        assert_eq!(world.resident.snapshot(), snapshot.as_ref());
        assert_eq!(world.attach() == Admission::Serve, serves, "{reason}");
        assert!(
            world.alarm.is_some_and(|at| at <= world.now + 10 * MINUTE),
            "the chain is armed again"
        );
    }
}

/// The code host is not needed to save what is on the disk.
#[test]
fn checkpoint_is_saved_while_the_code_host_is_down() {
    let mut world = World::warm();
    let old = world.resident.snapshot().unwrap().clone();
    for has_moved in [true, false] {
        world.now += MINUTE;
        world.checkpoint();
        let saved_at = world.now;
        world.run_to(Step::Fetch);
        if has_moved {
            // Such a tree would differ from its stamp.
            world.runtime.as_mut().unwrap().mirror = Some(sha(9));
        }
        world.fail(failure("could not resolve host"));
        assert_eq!(world.resident.current_step(), Some(Step::RevParse));
        world.run_until(|world| world.resident.current_step().is_none());
        assert!(
            world.reason().starts_with("github-unreachable: "),
            "{}",
            world.reason()
        );
        let snapshot = world.resident.snapshot().unwrap();
        assert_eq!(snapshot.stamp, old.stamp);
        assert_eq!(snapshot.created_at >= saved_at, !has_moved);
        assert!(
            snapshot
                .backups()
                .iter()
                .all(|id| world.objects.contains_key(id))
                && world.objects.len() == 2
        );
        world.run_until(|world| world.state() == StateWord::Warm);
    }
}

/// A checkpoint without a snapshot is lost with the container's disk.
#[test]
fn snapshot_of_a_checkpoint_follows_within_a_minute() {
    let created_at = |world: &World| world.resident.snapshot().unwrap().created_at;
    let mut world = World::warm();
    world.now += 5 * MINUTE;
    world.checkpoint();
    assert!(
        world.alarm.is_some_and(|at| at <= world.now + 1_000),
        "the last cycle ended long ago"
    );
    let saved_at = world.now;
    world.run_until(|world| created_at(world) > saved_at && world.state() == StateWord::Warm);
    let ended_at = world.now;
    world.now += 1_000;
    world.checkpoint();
    assert_eq!(
        world.alarm,
        Some(ended_at + MINUTE),
        "one in a minute is enough"
    );
    world.run_to(Step::Snapshot);
    let begun_at = world.now;
    world.now += 1_000;
    world.checkpoint();
    world.run_until(|world| world.state() == StateWord::Warm);
    assert_eq!(created_at(&world), begun_at);
    assert_eq!(
        world.alarm,
        Some(world.now + MINUTE),
        "it came too late for that snapshot"
    );
    world.run_until(|world| created_at(world) > begun_at && world.state() == StateWord::Warm);
    assert_eq!(
        world.alarm,
        Some(world.now + 10 * MINUTE),
        "nothing is left to save"
    );
    world.host = 4;
    world.run_to(Step::Build);
    world.fail(failure("error TS2304"));
    world.checkpoint();
    assert!(
        world.alarm.is_some_and(|at| at > world.now + 2 * MINUTE),
        "the build would fail again"
    );
}

#[test]
fn dead_container_is_restored() {
    for state in [StateWord::Warm, StateWord::Refreshing, StateWord::Degraded] {
        let mut world = World::warm();
        if state != StateWord::Warm {
            world.run_to(Step::Fetch);
        }
        if state == StateWord::Degraded {
            world.fail(failure("could not resolve host"));
        }
        assert_eq!(world.state(), state);
        world.stop_runtime();
        assert_eq!(world.attach(), Admission::Wait);
        assert_eq!(
            (world.state(), world.reason().as_str()),
            (StateWord::Restoring, "rehydrating")
        );
        assert!(
            matches!(world.running, Some((_, Step::AwaitRestores))),
            "the state precedes the work"
        );
        world.run_until(|world| world.state() == StateWord::Warm);
        assert_eq!(world.attach(), Admission::Serve);
        assert_eq!(
            world.resident.last_restore().map(|restore| restore.at),
            Some(world.now)
        );
    }
}

#[test]
fn other_marker_on_the_disk_is_restored() {
    let mut world = World::warm();
    let runtime = world.runtime.as_mut().unwrap();
    runtime.ready = Some(sha(9));
    world.probe();
    assert_eq!(world.state(), StateWord::Restoring);
}

#[test]
fn failed_or_stalled_restore_is_down() {
    let mut world = World::warm();
    world.stop_runtime();
    world.attach();
    world.run_to(Step::RestoreMirror);
    let mut stalled = world.clone();
    world.fail(failure("HTTP 500"));
    assert_eq!(
        world.reason(),
        "r2-restore-failed: restore-mirror: exit 1; stderr: HTTP 500"
    );
    stalled.now += 121 * SECOND;
    stalled.tick();
    assert!(
        stalled
            .reason()
            .starts_with("r2-restore-failed: the transfer stalled"),
        "{}",
        stalled.reason()
    );
    assert!(stalled.kinds().contains("stop") && stalled.runtime.is_none());
}

#[test]
fn other_content_than_the_stamp_is_down() {
    let mut world = World::warm();
    for content in world.objects.values_mut() {
        *content = sha(8);
    }
    world.stop_runtime();
    world.attach();
    world.run_until(|world| world.state() != StateWord::Restoring);
    assert!(
        world
            .reason()
            .starts_with("snapshot-stamp-mismatch: the mirror is at"),
        "{}",
        world.reason()
    );
    assert!(matches!(world.attach(), Admission::Reject(_)));
}

#[test]
fn dead_chain_is_armed_again() {
    let mut world = World::warm();
    world.run_to(Step::Fetch);
    world.fail(failure("could not resolve host"));
    world.apply(Input::KillRefresh);
    world.watchdog();
    assert!(
        world.reason().starts_with("alarm-missed: "),
        "{}",
        world.reason()
    );
    assert_eq!(world.resident.alarm(), Some(world.now + 5 * SECOND));
    world.run_until(|world| world.state() == StateWord::Warm);
}

#[test]
fn old_cycle_without_work_is_stale() {
    for restores in [false, true] {
        let mut world = World::warm();
        if restores {
            world.stop_runtime();
            world.attach();
        } else {
            world.run_to(Step::Fetch);
        }
        world.running = None;
        world.now += STALE;
        let mut busy = world.clone();
        busy.apply(Input::Watchdog { is_running: true });
        assert_ne!(
            busy.state(),
            StateWord::Degraded,
            "a step that runs is not stale"
        );
        world.watchdog();
        assert!(
            world.reason().starts_with("stale-mid-flight: "),
            "{}",
            world.reason()
        );
        assert_eq!(world.resident.alarm(), Some(world.now + 5 * SECOND));
        world.run_until(|world| world.state() == StateWord::Warm);
    }
}

#[test]
fn full_disk_restarts_the_container_within_guards() {
    let full = |edit: &dyn Fn(&mut World)| {
        let mut world = World::warm();
        world.run_to(Step::Fetch);
        world.fail(failure("No space left on device"));
        world.free_kib = Some(1_000);
        edit(&mut world);
        world.tick();
        world.finish();
        assert!(
            world.reason().starts_with("disk-full: "),
            "the state is unchanged"
        );
        (world.kinds().contains("stop"), world)
    };
    let (is_stopped, mut world) = full(&|_| {});
    assert!(is_stopped && world.alarm == Some(world.now + 45 * SECOND));
    world.free_kib = Some(1 << 22);
    world.run_until(|world| world.state() == StateWord::Warm);
    let is_guarded = |edit: &dyn Fn(&mut World)| !full(edit).0;
    assert!(is_guarded(&|world| world.in_flight = 1));
    assert!(is_guarded(&|world| world
        .runtime
        .as_mut()
        .unwrap()
        .is_dirty = true));
    // The second restart within an hour is refused.
    world.run_to(Step::Fetch);
    world.fail(failure("No space left on device"));
    world.free_kib = Some(1_000);
    world.tick();
    world.finish();
    assert!(!world.kinds().contains("stop"));
    assert!(
        world
            .resident
            .last_refresh_error()
            .unwrap()
            .contains("less than an hour ago")
    );
}

#[test]
fn three_strikes_rebuild_a_lost_tree() {
    let mut world = World::warm();
    world.apply(Input::ForceDown {
        cause: DownCause::RestoreFailed,
        detail: "forced".to_owned(),
    });
    world.watchdog();
    world.watchdog();
    assert_eq!(
        (world.state(), world.resident.strikes()),
        (StateWord::Down, 2)
    );
    world.watchdog();
    assert_eq!(world.state(), StateWord::Onboarding);
    world.run_until(|world| world.state() == StateWord::Warm);
    assert_eq!(world.resident.strikes(), 0);
}

#[test]
fn failed_provisioning_is_not_rebuilt() {
    let mut world = World::new();
    world.onboard();
    world.run_to(Step::Build);
    world.fail(failure("exit status 2"));
    for _ in 0..9 {
        world.watchdog();
    }
    assert!(world.reason().starts_with("provision-failed at build: "));
}

/// It is down until it is onboarded again, and an administrator's reason would promise a rebuild.
#[test]
fn resident_that_gives_up_its_slot_is_not_forced_down() {
    let mut world = World::warm();
    world.loses_answers = true;
    world.apply(Input::Rebuild);
    world.apply(Input::ForceOnboarding);
    world.now += 6 * MINUTE;
    world.watchdog();
    assert_eq!(world.resident.slot(), Slot::Releasing);
    let before = world.resident.status();
    assert_eq!(before.0, StateWord::Down);
    world.apply(Input::ForceDown {
        cause: DownCause::RestoreFailed,
        detail: "forced".to_owned(),
    });
    assert_eq!(world.resident.status(), before);
}

#[test]
fn rebuild_discards_the_snapshot() {
    let mut world = World::warm();
    world.apply(Input::Rebuild);
    assert_eq!(world.state(), StateWord::Onboarding);
    assert!(world.objects.is_empty() && world.resident.snapshot().is_none());
    let before = world.resident.clone();
    world.apply(Input::Rebuild);
    assert_eq!(
        world.resident.stage(),
        before.stage(),
        "a rebuild during a cycle is ignored"
    );
    world.run_until(|world| world.state() == StateWord::Warm);
}

#[test]
fn failed_mint_is_recorded() {
    let mut world = World::warm();
    world.run_to(Step::Mint);
    let before = world.resident.status();
    world.fail(failure("no key"));
    assert_eq!(world.resident.status(), before);
    assert_eq!(world.running.map(|(_, step)| step), Some(Step::Fetch));
    world.run_until(|world| world.state() == StateWord::Warm);
    assert!(
        world
            .resident
            .last_refresh_error()
            .unwrap()
            .starts_with("token-mint-failed (")
    );
}

#[test]
fn object_without_state_is_down() {
    let world = World::new();
    assert!(world.reason().starts_with("nothing persisted"));
    assert!(matches!(
        world.resident.admission(None),
        Admission::Reject(_)
    ));
}

#[test]
fn offboarding_leaves_no_state() {
    let mut world = World::warm();
    world.has_row = false;
    world.apply(Input::Offboard);
    assert!(world.resident.is_blank() && world.objects.is_empty() && world.runtime.is_none());
}

#[test]
fn teardown_is_repeated_until_confirmed() {
    let mut world = World::warm();
    world.has_row = false;
    world.loses_answers = true;
    world.apply(Input::Offboard);
    assert!(!world.resident.is_blank());
    assert!(!world.actions.contains(&Action::TearDown(
        ars_resident::lifecycle::TeardownPart::Storage
    )));
    world.loses_answers = false;
    world.tick();
    assert!(world.resident.is_blank());
}

#[test]
fn onboarding_during_a_teardown_follows_it() {
    let mut world = World::warm();
    world.has_row = false;
    world.loses_answers = true;
    world.apply(Input::Offboard);
    world.onboard();
    world.loses_answers = false;
    world.run_until(|world| world.state() == StateWord::Warm);
    assert!(world.has_row);
}

#[test]
fn restore_with_unsaved_work_does_not_stop_the_container() {
    let mut world = World::warm();
    let runtime = world.runtime.as_mut().unwrap();
    (runtime.ready, runtime.is_dirty) = (None, true);
    let id = runtime.id.clone();
    world.apply(Input::Probed {
        runtime: Some(id),
        ready: None,
        trees: TreesState::Unknown,
    });
    world.run_to(Step::RestoreMirror);
    world.fail(failure("HTTP 500"));
    assert_eq!(world.state(), StateWord::Down);
    assert!(world.runtime.is_some() && world.kinds().contains("cancel"));
}

#[test]
fn replaced_container_does_not_fail_provisioning() {
    let mut world = World::new();
    world.onboard();
    world.run_to(Step::Build);
    world.start_runtime();
    world.fail(Failure {
        runtime_replaced: true,
        ..Failure::default()
    });
    assert_eq!(world.state(), StateWord::Onboarding);
    world.run_until(|world| world.state() == StateWord::Warm);
}
