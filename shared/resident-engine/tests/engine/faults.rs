//! Platform faults: the container dies at every effect, or the idle clock ends it.

use ars_resident::thread::CredentialFile;
use ars_resident::wire::DebugOp;
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::{Crash, HOUR, MINUTE, World, attach_call, exec_call, record, resource};

/// More effects than a cycle and the answers has.
const EFFECTS: u32 = 70;
/// The platform ends a container that is unused for this long.
const IDLE_LIMIT_MS: i64 = MINUTE;

fn moments() -> impl Iterator<Item = (u32, Crash)> {
    (0..EFFECTS).flat_map(|effect| [(effect, Crash::Before), (effect, Crash::After)])
}

fn kill_at(world: &World, effect: u32, moment: Crash) {
    world.platform.borrow_mut().kill_in = Some((effect, moment));
}

fn main_ref() -> Value {
    json!({ "refHint": "main" })
}

/// Runs until the resident is warm at a commit. On the way each degraded and down state has a reason.
fn settle(world: &mut World, commit: u64) {
    let commit = json!(sha(commit));
    world.run_until(|world| {
        let lifecycle = world.lifecycle();
        let reason = &lifecycle["stage"]["reason"];
        let state = lifecycle["stage"]["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let is_named = reason["cause"] != Value::Null;
        assert!(
            is_named || !["degraded", "down"].contains(&state.as_str()),
            "{lifecycle}"
        );
        state == "warm" && lifecycle["facts"]["stamp"]["sha"] == commit
    });
}

/// The archives in the storage are those that are named, once the work after the cycle ended.
fn assert_storage(world: &mut World, moment: &str) {
    world.run_for(MINUTE);
    assert_eq!(world.named(), world.stored(), "{moment}");
}

#[test]
fn provisioning_survives_a_death_at_every_effect() {
    for (effect, moment) in moments() {
        let mut world = World::new();
        kill_at(&world, effect, moment);
        world.onboard();
        settle(&mut world, 1 << 8);
        world.platform.borrow_mut().kill_in = None;
        assert_storage(&mut world, &format!("{effect} {moment:?}"));
        let attached = world.attach("load:1", main_ref());
        assert!(
            attached["user"].is_string(),
            "{effect} {moment:?}: {attached}"
        );
    }
}

#[test]
fn refresh_survives_a_death_at_every_effect() {
    for (effect, moment) in moments() {
        let mut world = World::warm();
        world
            .platform
            .borrow_mut()
            .branches
            .insert("main".into(), sha(9 << 8));
        kill_at(&world, effect, moment);
        world.call(Call::Debug {
            op: DebugOp::RefreshNow,
        });
        settle(&mut world, 9 << 8);
        world.platform.borrow_mut().kill_in = None;
        assert_storage(&mut world, &format!("{effect} {moment:?}"));
        let attached = world.attach("load:1", main_ref());
        assert_eq!(
            attached["sha"],
            json!(sha(9 << 8)),
            "{effect} {moment:?}: {attached}"
        );
    }
}

#[test]
fn restore_survives_a_death_at_every_effect() {
    for (effect, moment) in moments() {
        let mut world = World::warm();
        world.lose_container();
        kill_at(&world, effect, moment);
        world.call(attach_call("load:1", &main_ref()));
        world.platform.borrow_mut().kill_in = None;
        let attached = world.attach("load:1", main_ref());
        assert!(
            attached["user"].is_string(),
            "{effect} {moment:?}: {attached}"
        );
        assert_storage(&mut world, &format!("{effect} {moment:?}"));
    }
}

/// An acknowledged edit is there as long as the container, and no user is leaked.
#[test]
fn thread_survives_a_death_at_every_effect() {
    for (effect, moment) in moments() {
        let mut world = World::warm();
        kill_at(&world, effect, moment);
        world.call(attach_call("load:1", &main_ref()));
        let edited = world.call(exec_call("load:1", "edit")).body;
        let is_lost = world.platform.borrow().kill_in.is_none();
        let dirty = |world: &World| {
            let platform = world.platform.borrow();
            platform
                .container
                .as_ref()
                .is_some_and(|it| it.trees.values().any(|tree| tree.is_dirty))
        };
        assert!(
            is_lost || (edited["exitCode"] == 0 && dirty(&world)),
            "{effect} {moment:?}: {edited}"
        );
        world.call(attach_call("load:1", &json!({ "readonly": true })));
        world.run_for(HOUR);
        world.platform.borrow_mut().kill_in = None;
        let attached = world.attach("load:1", main_ref());
        assert!(
            attached["user"].is_string(),
            "{effect} {moment:?}: {attached}"
        );
        assert_eq!(
            world.detach("load:1", true)["released"],
            true,
            "{effect} {moment:?}"
        );
        assert_eq!(world.pool(), json!({}), "{effect} {moment:?}");
    }
}

#[test]
fn command_of_a_lost_container_is_not_repeated() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let command = world.start(exec_call("load:1", "sleep 5000"));
    world.lose_container();
    let ended = world.finish(command).unwrap().body;
    assert!(
        ended["error"]
            .as_str()
            .unwrap()
            .starts_with("runtime-replaced: "),
        "{ended}"
    );
    assert!(
        !world
            .platform
            .borrow()
            .steps
            .iter()
            .any(|step| step == "exec"),
        "it ran again"
    );
}

/// The longest command runs while no request arrives, and the container sleeps after it.
#[test]
fn command_of_twenty_minutes_keeps_its_container() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.platform.borrow_mut().idle_limit_ms = Some(IDLE_LIMIT_MS);
    let runtime = |world: &World| {
        world
            .platform
            .borrow()
            .container
            .as_ref()
            .map(|it| it.id.clone())
    };
    let runtime_before = runtime(&world).unwrap();
    let began_at = world.platform.borrow().now;
    let command = format!("sleep {}", 20 * MINUTE);
    let ended = world.exec("load:1", &command);
    assert_eq!(
        (&ended["exitCode"], &ended["stdout"]),
        (&json!(0), &json!(command)),
        "{ended}"
    );
    assert!(world.platform.borrow().now - began_at >= 20 * MINUTE);
    assert_eq!(runtime(&world), Some(runtime_before.clone()));
    world.run_until(|world| runtime(world) != Some(runtime_before.clone()));
}

/// Whatever a crash left from an operation or an attach is removed before the user serves another
/// thread.
#[test]
fn orphans_are_cleared_with_their_processes() {
    let calls = [
        Call::Op {
            request: serde_json::from_value(json!({ "resource": resource(), "op": "test" }))
                .unwrap(),
        },
        attach_call("load:1", &json!({ "refHint": "feature" })),
    ];
    let mut cleared = 0;
    for call in calls {
        for (effect, crash) in moments() {
            let mut world = World::warm();
            world.platform.borrow_mut().crash_in = Some((effect, crash));
            if world.try_call(call.clone()).is_some() {
                break;
            }
            let held = world.pool().as_object().unwrap().keys().next().cloned();
            world.restart();
            world.run_for(MINUTE);
            let platform = world.platform.borrow();
            let container = platform.container.as_ref().unwrap();
            let is_bound = world.pool() != json!({});
            assert!(container.ops.is_empty(), "{effect} {crash:?}");
            if let Some(user) = held.filter(|_| !is_bound) {
                assert!(
                    container.killed.contains(&user) && container.trees.is_empty(),
                    "{effect} {crash:?}"
                );
                cleared += 1;
            }
        }
    }
    assert!(cleared > 20, "{cleared}");
}

#[test]
fn erased_credential_is_minted_anew() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let mut minted = |file| {
        world
            .platform
            .borrow_mut()
            .container
            .as_mut()
            .unwrap()
            .credential = file;
        world.platform.borrow_mut().mints.clear();
        assert_eq!(world.exec("load:1", "true")["exitCode"], 0);
        world.platform.borrow().mints.clone()
    };
    assert_eq!(
        minted(CredentialFile::Empty),
        [false],
        "the cached token was rejected"
    );
    assert_eq!(minted(CredentialFile::Missing), [true]);
    let present = CredentialFile::Present {
        written_at: 0,
        expires_at: None,
    };
    assert_eq!(
        minted(present),
        [false; 0],
        "its token is valid for two hours"
    );
}

#[test]
fn cycle_sweeps_unused_dependencies() {
    let mut world = World::warm();
    world.attach("load:1", json!({ "refHint": "feature" }));
    world.call(Call::Debug {
        op: DebugOp::RefreshNow,
    });
    world.run_for(MINUTE);
    let kept = world
        .platform
        .borrow()
        .container
        .as_ref()
        .unwrap()
        .kept_deps;
    assert_eq!(
        kept,
        Some(2),
        "the entries of the tree and of the checkout stay"
    );
    assert!(record().command("install").is_some());
}
