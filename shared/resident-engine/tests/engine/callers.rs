//! Callers who leave before the answer: a command ends with them, and a detach does not.

use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::ready;
use serde_json::{Value, json};

use crate::world::{World, detach_call, exec_call};

fn main_ref() -> Value {
    json!({ "refHint": "main" })
}

/// The thread is busy until the command has ended, and no longer.
#[test]
fn command_ends_with_its_caller() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let (leave, left) = oneshot::channel::<()>();
    let command = world.start_while(exec_call("load:1", "hang"), left.map(drop));
    assert!(
        world.detach("load:1", false)["reason"]
            .as_str()
            .unwrap()
            .starts_with("busy: ")
    );
    drop(leave);
    assert!(world.finish(command).is_some());
    assert_eq!(world.detach("load:1", false)["released"], true);
}

#[test]
fn command_of_an_absent_caller_does_not_begin() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let command = world.start_while(exec_call("load:1", "edit"), ready(()));
    assert!(world.finish(command).is_some());
    assert_eq!(world.count("exec"), 0);
}

#[test]
fn detach_ends_although_its_caller_left() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let command = world.start(exec_call("load:1", "hang"));
    world.abandon(detach_call("load:1", true));
    assert!(world.finish(command).is_some());
    assert_eq!(world.detach("load:1", false)["reason"], "already-evicted");
}
