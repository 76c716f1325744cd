//! The engine stops at every effect and continues on the same database.

use ars_resident_engine::Call;
use serde_json::json;

use crate::world::{Crash, HOUR, World, attach_call, exec_call, record};

/// More effects than a cycle and the answers has.
const EFFECTS: u32 = 70;

fn crash_at(world: &World, effect: u32, crash: Crash) {
    world.platform.borrow_mut().crash_in = Some((effect, crash));
}

fn moments() -> impl Iterator<Item = (u32, Crash)> {
    (0..EFFECTS).flat_map(|effect| [(effect, Crash::Before), (effect, Crash::After)])
}

#[test]
fn provisioning_survives_a_crash_at_every_effect() {
    for (effect, crash) in moments() {
        let mut world = World::new();
        crash_at(&world, effect, crash);
        let answer = world.try_call(Call::Onboard {
            record: Box::new(record()),
        });
        if answer.is_none() {
            world.restart();
            world.onboard();
        }
        world.run_until(|world| world.state() == "warm");
        let view = world.view();
        let named = view.snapshot.unwrap().backups();
        assert!(
            named
                .iter()
                .all(|id| world.platform.borrow().objects.contains_key(id)),
            "{effect} {crash:?}"
        );
    }
}

#[test]
fn restore_survives_a_crash_at_every_effect() {
    for (effect, crash) in moments() {
        let mut world = World::warm();
        world.lose_container();
        crash_at(&world, effect, crash);
        world.try_call(attach_call("load:1", &json!({ "refHint": "main" })));
        if world.platform.borrow().is_crashed {
            world.restart();
        }
        world.platform.borrow_mut().crash_in = None;
        let attached = world.attach("load:1", json!({ "refHint": "main" }));
        assert!(
            attached["user"].is_string(),
            "{effect} {crash:?}: {attached}"
        );
        assert_eq!(
            world.pool().as_object().unwrap().len(),
            1,
            "{effect} {crash:?}"
        );
    }
}

/// No crash loses work, a pool user, or the refresh that follows.
#[test]
fn thread_survives_a_crash_at_every_effect() {
    for (effect, crash) in moments() {
        let mut world = World::warm();
        crash_at(&world, effect, crash);
        let calls = [
            attach_call("load:1", &json!({ "refHint": "main" })),
            exec_call("load:1", "edit"),
            attach_call("load:1", &json!({ "readonly": true })),
        ];
        for call in calls {
            if world.try_call(call).is_none() {
                world.restart();
            }
        }
        world.run_for(HOUR);
        if world.platform.borrow().is_crashed {
            world.restart();
        }
        world.platform.borrow_mut().crash_in = None;
        let attached = world.attach("load:1", json!({ "refHint": "main" }));
        assert!(
            attached["user"].is_string(),
            "{effect} {crash:?}: {attached}"
        );
        assert_eq!(
            world.detach("load:1", true)["released"],
            true,
            "{effect} {crash:?}"
        );
        assert_eq!(world.pool(), json!({}), "{effect} {crash:?}");
    }
}
