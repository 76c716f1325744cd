//! The state table, through the engine.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident::wire::DebugOp;
use ars_resident_engine::Call;
use serde_json::json;

use crate::container::sha;
use crate::world::{MINUTE, World, record};

fn failure(text: &str) -> StepFailure {
    let failure = StepFailure::new(FailureKind::Exit, text);
    StepFailure {
        exit_code: Some(1),
        free_kib: Some(1 << 22),
        ..failure
    }
}

fn reason(world: &mut World) -> String {
    world.call(Call::Status).body["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn onboarding_ends_warm_with_a_snapshot() {
    let mut world = World::warm();
    let view = world.view();
    let snapshot = view.snapshot.unwrap();
    assert_eq!(view.sha, Some(sha(1 << 8)));
    assert!(
        snapshot
            .backups()
            .iter()
            .all(|id| world.platform.borrow().objects.contains_key(id))
    );
    assert_eq!(
        (view.schedules.refresh, view.schedules.provision_deadline),
        (1, 0)
    );
    world.run_for(2 * MINUTE);
    assert!(
        world.view().disk.is_some(),
        "the disk is measured after the cycle"
    );
}

#[test]
fn failed_provisioning_is_down_and_keeps_its_row() {
    let mut world = World::new();
    world
        .platform
        .borrow_mut()
        .failures
        .push(("build", failure("make: *** Error 2")));
    world.onboard();
    world.run_until(|world| world.state() == "down");
    assert!(reason(&mut world).starts_with("provision-failed at build: exit 1; stderr: make"));
    assert!(world.platform.borrow().released.is_empty());
}

#[test]
fn late_provisioning_releases_its_row() {
    let mut world = World::new();
    world.onboard();
    world.call(Call::Debug {
        op: DebugOp::ForceOnboarding,
    });
    world.platform.borrow_mut().now += 6 * MINUTE;
    let reply = world.call(Call::Watchdog);
    assert_eq!(reply.body["action"], "provision-timed-out");
    assert!(reason(&mut world).starts_with("provision-timeout: "));
    assert_eq!(world.platform.borrow().released, [record().resource]);
}

#[test]
fn refresh_follows_the_branch_and_deletes_the_old_snapshot() {
    let mut world = World::warm();
    let old = world.view().snapshot.unwrap();
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(9 << 8));
    world.run_for(11 * MINUTE);
    let view = world.view();
    assert_eq!(view.sha, Some(sha(9 << 8)));
    assert!(
        old.backups()
            .iter()
            .all(|id| !world.platform.borrow().objects.contains_key(id))
    );
    assert_eq!(
        world.platform.borrow().objects.len(),
        3,
        "the third one has the dependencies"
    );
    assert_eq!(world.named(), world.stored());
}

#[test]
fn failed_fetch_degrades_and_the_next_refresh_mends() {
    let mut world = World::warm();
    world.platform.borrow_mut().mint_fails = true;
    world
        .platform
        .borrow_mut()
        .failures
        .push(("fetch", failure("503")));
    world.run_until(|world| world.state() == "degraded");
    assert!(reason(&mut world).starts_with("github-unreachable: "));
    let attached = world.attach("load:1", json!({ "refHint": "main" }));
    assert_eq!(
        attached["credentials"], "unavailable",
        "a degraded resident serves: {attached}"
    );
    world.run_until(|world| world.state() == "warm");
    let error = world.view().last_refresh_error.unwrap();
    assert!(
        error.starts_with("token-mint-failed"),
        "the mint never ends a cycle: {error}"
    );
}

#[test]
fn lost_container_is_restored_before_it_serves() {
    let mut world = World::warm();
    world.lose_container();
    let attached = world.attach("load:1", json!({ "refHint": "main" }));
    assert_eq!(attached["sha"], json!(sha(1 << 8)), "{attached}");
    let view = world.view();
    assert!(view.last_restore.is_some());
    let steps = world.platform.borrow().steps.clone();
    let place = |name: &str| steps.iter().rposition(|step| step == name).unwrap();
    assert!(place("restore-mirror") < place("verify") && place("verify") < place("worktree-clone"));
    world.call(Call::Rebuild { dry_run: false });
    world.run_until(|world| world.state() == "warm");
    assert_eq!(
        world.view().last_restore,
        None,
        "a rebuild restores nothing"
    );
}

#[test]
fn unrestorable_resident_is_rebuilt_after_three_strikes() {
    let mut world = World::warm();
    world.platform.borrow_mut().objects.clear();
    world.lose_container();
    let refused = world.attach("load:1", json!({ "refHint": "main" }));
    assert_eq!(
        (&refused["status"], &refused["state"]),
        (&json!(503), &json!("down")),
        "{refused}"
    );
    assert!(reason(&mut world).starts_with("r2-restore-failed: restore-mirror"));
    let actions: Vec<_> = (0..3)
        .map(|_| world.call(Call::Watchdog).body["action"].clone())
        .collect();
    assert_eq!(actions, ["none", "none", "auto-rebuilt"]);
    world.run_until(|world| world.state() == "warm");
}

#[test]
fn missed_alarm_is_found_by_the_watchdog() {
    let mut world = World::warm();
    world.call(Call::Debug {
        op: DebugOp::KillRefresh,
    });
    world.platform.borrow_mut().alarm = None;
    assert_eq!(world.call(Call::Watchdog).body["action"], "rearmed");
    assert!(reason(&mut world).starts_with("alarm-missed: "));
    world.run_until(|world| world.state() == "warm");
}

#[test]
fn rebuild_is_refused_in_a_cycle_and_keeps_bindings() {
    let mut world = World::new();
    world.onboard();
    let refused = world.call(Call::Rebuild { dry_run: false });
    assert_eq!(
        (refused.status, &refused.body["state"]),
        (409, &json!("onboarding"))
    );
    world.run_until(|world| world.state() == "warm");
    world.attach("load:1", json!({ "refHint": "main" }));
    let plan = world.call(Call::Rebuild { dry_run: true });
    assert_eq!((plan.status, world.state().as_str()), (200, "warm"));
    let started = world.call(Call::Rebuild { dry_run: false });
    assert_eq!(
        (started.status, &started.body["keeps"]["threadBindings"]),
        (202, &json!(1))
    );
    assert_eq!(started.body["backupObjectsDeleted"], 2);
    world.run_until(|world| world.state() == "warm");
    assert_eq!(world.view().threads.len(), 1);
}

#[test]
fn offboarding_removes_everything_and_repeats_what_failed() {
    let mut world = World::warm();
    world.attach("load:1", json!({ "refHint": "main" }));
    let offboard = |dry_run| Call::Offboard {
        record: Box::new(record()),
        dry_run,
    };
    let plan = world.call(offboard(true)).body;
    assert_eq!(plan["wouldRemove"]["threadBindings"], 1);
    world.platform.borrow_mut().storage_fails = true;
    let report = world.call(offboard(false)).body;
    assert_eq!(
        (&report["containerStopped"], &report["storageCleared"]),
        (&json!(true), &json!(false))
    );
    assert!(
        report["errors"][0]
            .as_str()
            .unwrap()
            .starts_with("objects: "),
        "{report}"
    );
    world.platform.borrow_mut().storage_fails = false;
    world.run_until(|world| world.platform.borrow().objects.is_empty());
    world.run_until(|world| world.state() == "none");
    assert_eq!(world.call(Call::Info).status, 404);
}

#[test]
fn missing_default_branch_falls_back_to_that_of_the_host() {
    let mut world = World::new();
    let record = ars_resident::registry::Record {
        default_ref: ars_types::StrictRefName::parse("gone").unwrap(),
        ..record()
    };
    world.call(Call::Onboard {
        record: Box::new(record),
    });
    world.run_until(|world| world.state() == "warm");
    assert_eq!(world.view().default_ref.as_str(), "main");
}
