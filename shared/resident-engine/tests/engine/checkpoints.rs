//! Checkpoints that threads make during a run, their restore, and the snapshots that have them.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::world::{MINUTE, World, resource};

fn request(thread: &str, run: &str) -> Value {
    json!({ "resource": resource(), "threadKey": thread, "run": run })
}

fn save(world: &mut World, run: &str) -> Value {
    let request = serde_json::from_value(request("load:1", run)).unwrap();
    world.call(Call::Checkpoint { request }).body
}

fn restore(world: &mut World, thread: &str, run: &str) -> Value {
    let request = serde_json::from_value(request(thread, run)).unwrap();
    world.call(Call::Restore { request }).body
}

fn edited() -> World {
    let mut world = World::warm();
    world.attach("load:1", json!({ "refHint": "main" }));
    world.exec("load:1", "edit");
    world
}

fn error(body: &Value) -> &str {
    body["error"].as_str().unwrap_or_default()
}

#[test]
fn checkpoint_of_a_run_is_restored_for_its_thread_only() {
    let mut world = edited();
    assert_eq!(
        save(&mut world, "run-1")["checkpoint"]["ref"],
        "refs/ars/run-1/1"
    );
    world.exec("load:1", "edit");
    let body = restore(&mut world, "load:1", "run-1");
    assert!(
        error(&body).starts_with("op-refused: "),
        "unsaved work is replaced: {body}"
    );
    assert_eq!(
        save(&mut world, "run-1")["checkpoint"]["ref"],
        "refs/ars/run-1/2"
    );
    world.platform.borrow_mut().steps.clear();
    assert_eq!(
        restore(&mut world, "load:1", "run-1")["ref"],
        "refs/ars/run-1/2"
    );
    let expected = [
        "checkpoint-find",
        "worktree-check",
        "checkpoint-send",
        "checkpoint-check-out",
        "checkpoint-unstage",
    ];
    assert_eq!(world.platform.borrow().steps, expected);
    world.attach("load:2", json!({ "refHint": "main" }));
    for (thread, run) in [("load:2", "run-1"), ("load:1", "run"), ("load:1", "run_1")] {
        let body = restore(&mut world, thread, run);
        assert!(
            error(&body).starts_with("unknown-ref: "),
            "{thread} {run}: {body}"
        );
    }
}

/// A review that lost its tree resumes at its commit.
#[test]
fn read_only_tree_is_restored() {
    let mut world = World::warm();
    let readonly = json!({ "refHint": "main", "readonly": true });
    world.attach("load:1", readonly.clone());
    world.exec("load:1", "edit");
    save(&mut world, "run-1");
    world.detach("load:1", true);
    world.attach("load:1", readonly);
    assert_eq!(
        restore(&mut world, "load:1", "run-1")["ref"],
        "refs/ars/run-1/1"
    );
}

/// A container that is lost before the next snapshot takes the newest checkpoint with it.
#[test]
fn lost_checkpoint_gives_way_to_the_one_before() {
    let mut world = edited();
    save(&mut world, "run-1");
    world.exec("load:1", "edit");
    save(&mut world, "run-1");
    let lost = || {
        (
            "checkpoint-find",
            StepFailure::new(FailureKind::Exit, "fatal: bad object"),
        )
    };
    world.platform.borrow_mut().failures.push(lost());
    assert_eq!(
        restore(&mut world, "load:1", "run-1")["ref"],
        "refs/ars/run-1/1"
    );
    world
        .platform
        .borrow_mut()
        .failures
        .extend([lost(), lost()]);
    let body = restore(&mut world, "load:1", "run-1");
    assert!(error(&body).starts_with("unknown-ref: "), "{body}");
}

#[test]
fn forced_detach_is_in_a_snapshot_within_a_minute() {
    let mut world = edited();
    world.run_for(2 * MINUTE);
    let first = world.view().snapshot.unwrap();
    assert_eq!(world.detach("load:1", true)["released"], true);
    world.run_for(MINUTE);
    let view = world.view();
    let second = view.snapshot.unwrap().created_at;
    assert!(
        first.created_at < second && view.last_checkpoint_at.unwrap() < second,
        "{first:?} {second}"
    );
}

#[test]
fn rebuild_names_the_checkpoints_that_it_keeps() {
    let mut world = edited();
    save(&mut world, "run-1");
    world.exec("load:1", "edit");
    assert_eq!(world.detach("load:1", true)["released"], true);
    for is_plan in [true, false] {
        world.run_until(|world| world.state() == "warm");
        let plan = world.call(Call::Rebuild { dry_run: is_plan }).body;
        assert_eq!(plan["keeps"]["checkpoints"], 2, "{plan}");
    }
    world.run_until(|world| world.state() == "warm");
    let view = world.view();
    assert!(
        view.last_checkpoint_at.is_some() && view.threads[0].checkpoint.is_some(),
        "{view:?}"
    );
}

/// Without it a checkpoint would be lost with the container's disk.
#[test]
fn snapshot_follows_a_new_checkpoint() {
    let mut world = edited();
    let first = world.view().snapshot.unwrap();
    world.run_for(11 * MINUTE);
    assert_eq!(
        world.view().snapshot.unwrap(),
        first,
        "the branch did not move"
    );
    save(&mut world, "run-1");
    world.run_for(11 * MINUTE);
    let second = world.view().snapshot.unwrap();
    assert!(world.view().last_checkpoint_at.unwrap() < second.created_at);
    assert!(
        second.created_at > first.created_at && second.stamp == first.stamp,
        "{second:?}"
    );
    world.run_for(11 * MINUTE);
    assert_eq!(
        world.view().snapshot.unwrap(),
        second,
        "it has the checkpoint already"
    );
}
