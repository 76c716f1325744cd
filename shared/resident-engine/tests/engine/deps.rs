//! Dependency archives: made once per key, restored with the container, deleted with their key.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident::wire::DebugOp;
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::{MINUTE, World, record};

fn main_ref() -> Value {
    json!({ "refHint": "main" })
}

fn refresh(world: &mut World) {
    world.call(Call::Debug {
        op: DebugOp::RefreshNow,
    });
    world.run_for(MINUTE);
}

/// After a lost container neither the attach nor the next refresh installs, and nothing is built again.
#[test]
fn lost_container_needs_no_installation() {
    let mut world = World::warm();
    assert_eq!(world.deps_archives().len(), 1);
    let work = |world: &World| ["install", "build"].map(|step| world.count(step));
    let before = work(&world);
    world.lose_container();
    let attached = world.attach("load:1", main_ref());
    assert_eq!(attached["deps"], "hardlink", "{attached}");
    refresh(&mut world);
    assert_eq!((world.state().as_str(), work(&world)), ("warm", before));
    assert_eq!(world.count("deps-archive"), 1, "one archive for a key");
}

/// The object storage lost the archive: the dependencies are installed, and archived anew.
#[test]
fn unusable_archive_is_replaced_after_an_installation() {
    let mut world = World::warm();
    let lost = world.deps_archives();
    world
        .platform
        .borrow_mut()
        .objects
        .retain(|id, _| !lost.contains(id));
    let installs = world.count("install");
    world.lose_container();
    let attached = world.attach("load:1", main_ref());
    assert_eq!(
        (&attached["deps"], world.state().as_str()),
        (&json!("hardlink"), "warm"),
        "{attached}"
    );
    assert_eq!(world.count("install"), installs + 1);
    refresh(&mut world);
    assert!(world.deps_archives().len() == 1 && world.deps_archives().is_disjoint(&lost));
    assert_eq!(world.named(), world.stored());
}

#[test]
fn failed_archive_of_dependencies_is_repeated() {
    let mut world = World::new();
    let failure = StepFailure::new(FailureKind::NoSpace, "No space left on device");
    world
        .platform
        .borrow_mut()
        .failures
        .push(("deps-archive", failure));
    world.onboard();
    world.run_until(|world| world.state() == "warm");
    assert!(world.deps_archives().is_empty() && world.stored().len() == 2);
    refresh(&mut world);
    assert_eq!(
        (world.state().as_str(), world.deps_archives().len()),
        ("warm", 1)
    );
}

/// A rebuild discards the snapshot only, so provisioning in an empty container uses the archive.
#[test]
fn rebuild_restores_the_dependencies() {
    let mut world = World::warm();
    let archive = world.deps_archives();
    let installs = world.count("install");
    world
        .platform
        .borrow_mut()
        .objects
        .retain(|id, _| archive.contains(id));
    world.lose_container();
    assert_eq!(world.attach("load:1", main_ref())["state"], "down");
    world.call(Call::Rebuild { dry_run: false });
    world.run_until(|world| world.state() == "warm");
    // Provisioning meets the restored entry.
    assert_eq!(world.count("install"), installs + 1);
    assert_eq!(
        (world.deps_archives(), world.count("deps-archive")),
        (archive, 1)
    );
}

#[test]
fn archive_ends_with_its_key_and_its_resident() {
    let mut world = World::warm();
    let old = world.deps_archives();
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(9 << 8));
    refresh(&mut world);
    let new = world.deps_archives();
    assert!(new.len() == 1 && new.is_disjoint(&old) && world.stored().is_disjoint(&old));
    let offboard = |dry_run| Call::Offboard {
        record: Box::new(record()),
        dry_run,
    };
    world.platform.borrow_mut().other_objects = 2;
    let plan = world.call(offboard(true)).body;
    assert_eq!(
        (
            &plan["wouldRemove"]["backupObjects"],
            &plan["wouldRemove"]["r2Objects"]
        ),
        (&json!(3), &json!(2))
    );
    let report = world.call(offboard(false)).body;
    assert_eq!(
        (&report["backupObjectsDeleted"], &report["r2ObjectsDeleted"]),
        (&json!(3), &json!(2))
    );
    assert!(world.stored().is_empty() && world.deps_archives().is_empty());
}

/// Programs from any branch run in an installation, whatever the lockfiles say. The default branch
/// never takes the result.
#[test]
fn other_branch_installs_for_itself() {
    let mut world = World::warm();
    let kept = |world: &World| {
        world
            .platform
            .borrow()
            .container
            .as_ref()
            .unwrap()
            .deps
            .clone()
    };
    let of_main = kept(&world);
    // Two branches with the same lockfiles as each other, which differ from the default branch's.
    for (branch, number) in [("first", 9 << 8), ("second", (9 << 8) + 1)] {
        world
            .platform
            .borrow_mut()
            .branches
            .insert(branch.into(), sha(number));
        let attached = world.attach(&format!("load:{branch}"), json!({ "refHint": branch }));
        assert_eq!(attached["deps"], "hardlink", "{attached}");
    }
    assert_eq!(
        kept(&world).len(),
        of_main.len() + 2,
        "one took the installation of the other"
    );
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha((9 << 8) + 2));
    let before = world.count("install");
    refresh(&mut world);
    assert_eq!(
        kept(&world).len(),
        of_main.len() + 3,
        "the default branch took an installation of a branch"
    );
    assert_eq!(world.count("install"), before + 1);
    // From now on a branch with these lockfiles takes what the default branch installed.
    world
        .platform
        .borrow_mut()
        .branches
        .insert("third".into(), sha((9 << 8) + 3));
    world.attach("load:third", json!({ "refHint": "third" }));
    assert_eq!(
        (kept(&world).len(), world.count("install")),
        (of_main.len() + 3, before + 1)
    );
}
