//! Outages in the object storage, at the code host, and on the disk.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident::wire::DebugOp;
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::{HOUR, MINUTE, Transfers, World};

fn main_ref() -> Value {
    json!({ "refHint": "main" })
}

fn reason(world: &mut World) -> String {
    world.call(Call::Status).body["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn push(world: &World, branch: &str, commit: u64) {
    world
        .platform
        .borrow_mut()
        .branches
        .insert(branch.into(), sha(commit));
}

fn refresh(world: &mut World) {
    world.call(Call::Debug {
        op: DebugOp::RefreshNow,
    });
}

fn set(world: &World, transfers: Transfers) {
    world.platform.borrow_mut().transfers = transfers;
}

#[test]
fn failed_upload_keeps_the_last_snapshot() {
    let mut world = World::warm();
    let old = world.view().snapshot.unwrap();
    for transfers in [Transfers::Fails, Transfers::Truncates] {
        set(&world, transfers);
        push(&world, "main", 9 << 8);
        refresh(&mut world);
        world.run_until(|world| world.state() == "degraded");
        assert!(
            reason(&mut world).starts_with("snapshot-failed: "),
            "{}",
            reason(&mut world)
        );
        assert_eq!(world.view().snapshot.unwrap().backups(), old.backups());
        assert!(
            world.attach("load:1", main_ref())["user"].is_string(),
            "the tree still serves"
        );
    }
    // A container that is lost now is restored to the last snapshot.
    set(&world, Transfers::Fast);
    world.lose_container();
    let attached = world.attach("load:2", main_ref());
    assert!(attached["user"].is_string(), "{attached}");
    refresh(&mut world);
    world.run_until(|world| world.lifecycle()["facts"]["stamp"]["sha"] == json!(sha(9 << 8)));
    assert_eq!(world.named(), world.stored());
}

/// Object storage that fails for moments neither degrades a resident nor ends the restore.
#[test]
fn failed_transfer_is_repeated() {
    let mut world = World::warm();
    let recovers = Transfers::Recovers { failures: 2 };
    set(&world, recovers);
    push(&world, "main", 9 << 8);
    refresh(&mut world);
    world.run_until(|world| world.lifecycle()["facts"]["stamp"]["sha"] == json!(sha(9 << 8)));
    assert_eq!(world.state(), "warm");
    set(&world, recovers);
    world.lose_container();
    assert!(world.attach("load:1", main_ref())["user"].is_string());
    assert_eq!(world.named(), world.stored());
}

#[test]
fn failed_download_is_never_served() {
    for (transfers, text) in [
        (Transfers::Fails, "503"),
        (Transfers::Truncates, "another SHA-256"),
    ] {
        let mut world = World::warm();
        set(&world, transfers);
        world.lose_container();
        let refused = world.attach("load:1", main_ref());
        assert_eq!(
            (&refused["status"], &refused["state"]),
            (&json!(503), &json!("down")),
            "{refused}"
        );
        let why = reason(&mut world);
        assert!(
            why.starts_with("r2-restore-failed: restore-mirror: ") && why.contains(text),
            "{why}"
        );
        set(&world, Transfers::Fast);
        (0..3).for_each(|_| drop(world.call(Call::Watchdog)));
        world.run_until(|world| world.state() == "warm");
        assert!(world.attach("load:1", main_ref())["user"].is_string());
    }
}

/// Bytes that arrive keep a restore alive for longer than any silence may last.
#[test]
fn slow_download_is_served_and_a_silent_one_ends() {
    let mut world = World::warm();
    set(&world, Transfers::Slow { pieces: 8 });
    world.lose_container();
    assert!(world.attach("load:1", main_ref())["user"].is_string());
    assert!(world.view().last_restore.unwrap().ms > 15 * MINUTE);
    set(&world, Transfers::Hangs);
    world.lose_container();
    let began_at = world.platform.borrow().now;
    assert_eq!(world.attach("load:1", main_ref())["state"], "down");
    assert!(world.platform.borrow().now - began_at < 3 * MINUTE);
    assert!(
        reason(&mut world).contains("no bytes arrived for 120 s"),
        "{}",
        reason(&mut world)
    );
}

#[test]
fn attach_does_not_need_the_code_host() {
    let mut world = World::warm();
    world.platform.borrow_mut().now += 11 * MINUTE;
    let failure = StepFailure::new(FailureKind::Exit, "could not resolve host");
    world.platform.borrow_mut().failures = vec![("fetch", failure); 8];
    let attached = world.attach("load:1", json!({ "refHint": "main", "sha": sha(77) }));
    assert_eq!(
        attached["sha"],
        json!(sha(1 << 8)),
        "the commit that the mirror has: {attached}"
    );
    refresh(&mut world);
    world.run_until(|world| world.state() == "degraded");
    assert!(reason(&mut world).starts_with("github-unreachable: "));
}

#[test]
fn forced_push_saves_work_before_the_tree_follows() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    push(&world, "main", 77);
    let attached = world.attach("load:1", json!({ "sha": sha(77) }));
    assert_eq!(
        (&attached["sha"], &attached["recreated"]),
        (&json!(sha(77)), &json!(true)),
        "{attached}"
    );
    assert_eq!(
        world.view().threads[0].checkpoint.as_deref(),
        Some("refs/ars/thread/1")
    );
}

/// A tree without work goes with its branch. A tree with work stays, is used, and is saved when it
/// is released.
#[test]
fn deleted_branch_keeps_a_tree_with_work() {
    let mut world = World::warm();
    for thread in ["load:clean", "load:dirty"] {
        world.attach(thread, json!({ "refHint": "feature" }));
    }
    world.exec("load:dirty", "edit");
    world.platform.borrow_mut().branches.remove("feature");
    refresh(&mut world);
    world.run_for(HOUR / 2);
    world.call(Call::Debug {
        op: DebugOp::SweepNow,
    });
    let evicted: Vec<_> = world
        .view()
        .threads
        .into_iter()
        .filter(|row| row.evicted)
        .collect();
    let why: Vec<_> = evicted
        .iter()
        .map(|row| (row.thread_key.as_str(), row.evicted_why.as_deref()))
        .collect();
    assert_eq!(why, [("load:clean", Some("finished"))]);
    assert_eq!(world.exec("load:dirty", "true")["exitCode"], 0);
    let unknown = world.attach("load:new", json!({ "refHint": "feature" }));
    assert!(
        unknown["error"]
            .as_str()
            .unwrap()
            .starts_with("unknown-ref: "),
        "{unknown}"
    );
    assert_eq!(world.detach("load:dirty", true)["released"], true);
    assert_eq!(
        world
            .platform
            .borrow()
            .container
            .as_ref()
            .unwrap()
            .checkpoints,
        1
    );
}

#[test]
fn deleted_default_branch_degrades_and_its_return_mends() {
    let mut world = World::warm();
    let tip = world.platform.borrow_mut().branches.remove("main").unwrap();
    refresh(&mut world);
    world.run_until(|world| world.state() == "degraded");
    assert!(
        reason(&mut world).starts_with("rev-parse-failed: "),
        "{}",
        reason(&mut world)
    );
    assert!(world.attach("load:1", json!({ "refHint": "feature" }))["user"].is_string());
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), tip);
    world.run_until(|world| world.state() == "warm");
}

#[test]
fn full_disk_rejects_attaches_until_there_is_room() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    let full = StepFailure::new(FailureKind::NoSpace, "No space left on device");
    world.platform.borrow_mut().failures.push(("fetch", full));
    refresh(&mut world);
    world.run_until(|world| world.state() == "degraded");
    assert!(
        reason(&mut world).starts_with("disk-full: "),
        "{}",
        reason(&mut world)
    );
    for refused in [
        world.attach("load:2", main_ref()),
        world.exec("load:1", "true"),
    ] {
        assert!(
            refused["error"]
                .as_str()
                .unwrap()
                .starts_with("not-serviceable: "),
            "{refused}"
        );
        assert!(
            refused["reason"]
                .as_str()
                .unwrap()
                .starts_with("disk-full: "),
            "{refused}"
        );
    }
    world.run_until(|world| world.state() == "warm");
    let is_dirty = |world: &World| {
        world
            .platform
            .borrow()
            .container
            .as_ref()
            .unwrap()
            .trees
            .values()
            .any(|tree| tree.is_dirty)
    };
    assert!(is_dirty(&world), "the work is still there");
}
