//! Threads: attach, commands, detach, operations, and the room for them.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident::layout::SPARE;
use ars_resident::pool::POOL_USERS_MAX;
use ars_resident::wire::DebugOp;
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::{
    HOUR, MINUTE, SECOND, World, attach_call, detach_call, exec_call, record, resource,
};

fn main_ref() -> Value {
    json!({ "refHint": "main" })
}

fn op(world: &mut World, fields: Value) -> Value {
    let mut body = json!({ "resource": resource(), "op": "test" });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    world
        .call(Call::Op {
            request: serde_json::from_value(body).unwrap(),
        })
        .body
}

fn token(body: &Value) -> &str {
    body["error"]
        .as_str()
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default()
}

#[test]
fn attach_binds_a_ref_for_life() {
    let mut world = World::warm();
    let needs = world.attach("load:1", json!({}));
    assert_eq!(
        (&needs["status"], &needs["needs"], &needs["defaultRef"]),
        (&json!(409), &json!("ref"), &json!("main"))
    );
    let attached = world.attach("load:1", json!({ "refHint": "feature" }));
    assert_eq!(
        (
            &attached["ref"],
            &attached["deps"],
            &attached["credentials"]
        ),
        (&json!("feature"), &json!("hardlink"), &json!("ok"))
    );
    assert_eq!(
        (&attached["reconciled"], &attached["recreated"]),
        (&json!(true), &json!(false))
    );
    let again = world.attach("load:1", main_ref());
    assert_eq!(
        (&again["ref"], &again["deps"], &again["user"]),
        (&json!("feature"), &json!("none"), &attached["user"])
    );
    let unknown = world.attach("load:2", json!({ "refHint": "nope" }));
    assert_eq!(
        (&unknown["status"], token(&unknown)),
        (&json!(400), "unknown-ref")
    );
    assert_eq!(
        world.pool().as_object().unwrap().len(),
        1,
        "a failed attach returns its user"
    );
    assert_eq!(world.view().attach_ms.len(), 2);
}

#[test]
fn attach_fetches_for_a_new_branch_and_an_expected_commit() {
    let mut world = World::warm();
    world
        .platform
        .borrow_mut()
        .branches
        .insert("new".into(), sha(7));
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(8));
    let attached = world.attach("load:1", json!({ "refHint": "new" }));
    assert_eq!(attached["sha"], json!(sha(7)));
    let expected = world.attach("load:2", json!({ "refHint": "main", "sha": sha(8) }));
    assert_eq!(expected["sha"], json!(sha(8)));
}

/// The tests' override lowers the age from which the mirror's branch is not trusted.
#[test]
fn attach_fetches_when_the_override_calls_the_mirror_stale() {
    let mut world = World::warm();
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(8));
    assert_ne!(world.attach("load:1", main_ref())["sha"], json!(sha(8)));
    // The mirror is older than the override allows.
    world.platform.borrow_mut().now += 1;
    let mut call = attach_call("load:2", &main_ref());
    let Call::Attach { stale_after_s, .. } = &mut call else {
        unreachable!("an attach")
    };
    *stale_after_s = Some(0);
    assert_eq!(world.call(call).body["sha"], json!(sha(8)));
}

#[test]
fn seventeenth_thread_finds_no_user() {
    let mut world = World::warm();
    for number in 0..16 {
        let attached = world.attach(&format!("load:{number}"), main_ref());
        assert!(attached["user"].is_string(), "{attached}");
    }
    let refused = world.attach("load:16", main_ref());
    assert_eq!(
        (&refused["status"], token(&refused)),
        (&json!(429), "user-pool-exhausted")
    );
    assert_eq!(token(&op(&mut world, json!({}))), "user-pool-exhausted");
    assert_eq!(
        world.detach("load:3", false),
        json!({ "released": true, "user": "worker5" })
    );
    assert_eq!(world.attach("load:16", main_ref())["user"], "worker5");
}

#[test]
fn failed_step_and_busy_mirror_return_the_user() {
    let mut world = World::warm();
    let fail = |world: &World, kind| {
        let failure = StepFailure::new(kind, "why");
        world
            .platform
            .borrow_mut()
            .failures
            .push(("worktree-clone", failure));
    };
    fail(&world, FailureKind::Exit);
    let failed = world.attach("load:1", main_ref());
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .starts_with("attach-failed at worktree-clone: "),
        "{failed}"
    );
    assert_eq!(
        failed["trace"].as_array().unwrap().last().unwrap()["step"],
        "worktree-clone"
    );
    assert_eq!(
        world.platform.borrow().steps.last().unwrap(),
        "kill",
        "before the user is another thread's"
    );
    fail(&world, FailureKind::LockTimeout);
    let busy = world.attach("load:1", main_ref());
    assert_eq!(
        (&busy["status"], &busy["reason"]),
        (&json!(503), &json!("mirror-busy"))
    );
    assert_eq!(busy["state"], "warm");
    assert_eq!(world.pool(), json!({}));
}

/// When a container is stopped, the daemon cancels the steps.
#[test]
fn stopped_container_is_a_replaced_runtime() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world
        .platform
        .borrow_mut()
        .failures
        .push(("exec", StepFailure::new(FailureKind::Cancelled, "why")));
    let lost = world.exec("load:1", "true");
    assert_eq!(
        (token(&lost), &lost["reason"]),
        ("runtime-replaced", &json!("runtime-replaced"))
    );
}

#[test]
fn full_disk_evicts_cold_trees_then_rejects() {
    let mut world = World::warm();
    world.attach("load:cold", json!({ "refHint": "feature" }));
    world.platform.borrow_mut().now += HOUR / 2;
    world.call(Call::Debug {
        op: DebugOp::MeasureDisk,
    });
    world.platform.borrow_mut().free_kib = 1000;
    world.call(Call::Debug {
        op: DebugOp::MeasureDisk,
    });
    let refused = world.attach("load:1", main_ref());
    assert_eq!(
        (&refused["status"], &refused["reason"]),
        (&json!(503), &json!("disk-pressure")),
        "{refused}"
    );
    assert!(
        !refused["error"].as_str().unwrap().contains("load:"),
        "no other thread is named"
    );
    assert_eq!(
        world.view().threads[0].evicted_why.as_deref(),
        Some("disk-pressure")
    );
    let platform = world.platform.borrow();
    let last = |name: &str| platform.steps.iter().rposition(|step| step == name);
    assert!(
        last("worktree-remove") < last("trash-empty"),
        "the removed tree still had its space"
    );
}

#[test]
fn detach_keeps_unsaved_work_and_force_saves_it() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    assert_eq!(world.exec("load:1", "edit")["exitCode"], 0);
    assert_eq!(
        world.view().threads[0].dirty,
        None,
        "the tree was not checked"
    );
    let kept = world.detach("load:1", false);
    assert!(
        kept["reason"].as_str().unwrap().starts_with("dirty: "),
        "{kept}"
    );
    assert_eq!(world.view().threads[0].dirty, Some(true));
    assert_eq!(world.exec("load:1", "true")["exitCode"], 0);
    assert_eq!(
        world.view().threads[0].dirty,
        None,
        "the tree was used since its check"
    );
    assert_eq!(world.detach("load:1", true)["released"], true);
    assert_eq!(
        world.view().threads[0].checkpoint.as_deref(),
        Some("refs/ars/thread/1")
    );
    assert_eq!(world.detach("load:1", false)["reason"], "already-evicted");
    let gone = world.exec("load:1", "true");
    assert_eq!(
        (token(&gone), &gone["needs"], &gone["exitCode"]),
        ("evicted", &json!("attach"), &json!(127))
    );
    assert_eq!(token(&world.detach("load:2", false)), "no-binding");
}

/// A view has trees checked that it does not know, and a later view shows the result.
#[test]
fn view_learns_of_unsaved_work() {
    let mut world = World::warm();
    for thread in ["load:clean", "load:dirty"] {
        world.attach(thread, main_ref());
    }
    world.platform.borrow_mut().now += HOUR / 2;
    let used_at = world.platform.borrow().now;
    world.exec("load:dirty", "edit");
    let shown = |world: &mut World| {
        let mut rows = world.view().threads;
        rows.sort_by(|one, other| one.thread_key.cmp(&other.thread_key));
        rows.into_iter()
            .map(|row| (row.dirty, row.unchecked_since))
            .collect::<Vec<_>>()
    };
    let unknown = shown(&mut world);
    assert_eq!((unknown[0].0, unknown[1]), (None, (None, Some(used_at))));
    assert!(
        unknown[0].1.is_some_and(|since| since < used_at),
        "{unknown:?}"
    );
    assert_eq!(shown(&mut world), [(Some(false), None), (Some(true), None)]);
    // The next use makes the check void.
    world.exec("load:clean", "edit");
    assert!(shown(&mut world)[0].1.is_some());
    world.platform.borrow_mut().now += HOUR;
    shown(&mut world);
    assert_eq!(shown(&mut world)[0], (Some(true), None));
    // A process that a command left may have changed the tree since.
    world.platform.borrow_mut().now += HOUR;
    let old = shown(&mut world)[0];
    assert!(
        old.0.is_none() && old.1.is_some_and(|since| since > used_at + HOUR / 2),
        "{old:?}"
    );
    assert_eq!(shown(&mut world)[0], (Some(true), None));
}

#[test]
fn failed_checkpoint_keeps_the_tree() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    let failure = StepFailure::new(FailureKind::NoSpace, "full");
    world
        .platform
        .borrow_mut()
        .failures
        .push(("worktree-checkpoint", failure.clone()));
    assert_eq!(world.detach("load:1", true)["released"], false);
    // Another mode replaces the tree, which needs a checkpoint too.
    world
        .platform
        .borrow_mut()
        .failures
        .push(("worktree-checkpoint", failure));
    let failed = world.attach("load:1", json!({ "readonly": true }));
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .starts_with("attach-failed at worktree-checkpoint"),
        "{failed}"
    );
    let replaced = world.attach("load:1", json!({ "readonly": true }));
    assert_eq!(
        (&replaced["recreated"], &replaced["credentials"]),
        (&json!(true), &json!("none"))
    );
}

#[test]
fn forced_detach_kills_a_running_command() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let command = world.start(exec_call("load:1", "hang"));
    assert!(
        world.detach("load:1", false)["reason"]
            .as_str()
            .unwrap()
            .starts_with("busy: ")
    );
    assert_eq!(world.view().in_flight, 1);
    assert_eq!(world.detach("load:1", true)["released"], true);
    assert!(world.finish(command).is_some());
    assert_eq!(world.view().in_flight, 0);
}

#[test]
fn command_that_arrives_during_a_detach_finds_no_tree() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    let command = world.start(exec_call("load:1", "hang"));
    let detach = world.start(detach_call("load:1", true));
    let late = world.start(exec_call("load:1", "edit"));
    assert!(world.finish(command).is_some());
    assert_eq!(world.finish(detach).unwrap().body["released"], true);
    assert_eq!(token(&world.finish(late).unwrap().body), "evicted");
}

#[test]
fn attach_that_replaces_a_tree_ends_its_commands_first() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    let command = world.start(exec_call("load:1", "hang"));
    assert_eq!(world.attach("load:1", main_ref())["recreated"], true);
    assert!(world.finish(command).is_some());
    let steps = world.platform.borrow().steps.clone();
    let at = |name: &str| steps.iter().rposition(|step| step == name).unwrap();
    assert!(
        at("kill") < at("exec") && at("exec") < at("worktree-checkpoint"),
        "{steps:?}"
    );
}

#[test]
fn two_attaches_of_a_thread_take_turns() {
    let mut world = World::warm();
    let [first, second] = [(); 2].map(|()| world.start(attach_call("load:1", &main_ref())));
    let first = world.finish(first).unwrap().body;
    let second = world.finish(second).unwrap().body;
    assert_eq!(first["user"], second["user"]);
    let clones = world
        .platform
        .borrow()
        .steps
        .iter()
        .filter(|step| *step == "worktree-clone")
        .count();
    assert_eq!(
        (clones, &second["deps"]),
        (1, &json!("none")),
        "the second one reuses the tree"
    );
}

#[test]
fn command_waits_for_a_restore() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.lose_container();
    let lost = world.exec("load:1", "true");
    assert_eq!(
        (token(&lost), &lost["needs"]),
        ("worktree-missing", &json!("attach")),
        "{lost}"
    );
    assert_eq!(
        world.state(),
        "warm",
        "the restore ended before the command"
    );
    world.attach("load:1", main_ref());
    assert_eq!(world.exec("load:1", "echo")["stdout"], "echo");
}

#[test]
fn files_are_read_and_written() {
    let mut world = World::warm();
    let file = |path: &str| json!({ "resource": resource(), "threadKey": "load:1", "path": path, "content": "x" });
    let read = |path| Call::Read {
        request: serde_json::from_value(file(path)).unwrap(),
    };
    let write = |path| Call::Write {
        request: serde_json::from_value(file(path)).unwrap(),
    };
    assert_eq!(world.call(read("README.md")).status, 409);
    world.attach("load:1", main_ref());
    assert_eq!(world.call(read("README.md")).body["content"], "hello");
    assert_eq!(world.call(read("nope")).status, 404);
    assert_eq!(token(&world.call(read("/etc/passwd")).body), "path-escape");
    assert_eq!(
        world.call(write("a/b.txt")).body,
        json!({ "ok": true, "bytes": 1 })
    );
    assert!(
        world.detach("load:1", false)["reason"]
            .as_str()
            .unwrap()
            .starts_with("dirty")
    );
}

#[test]
fn operation_returns_its_user_in_any_case() {
    let mut world = World::warm();
    let passed = op(&mut world, json!({}));
    assert_eq!(
        (&passed["ok"], &passed["summary"]),
        (&json!(true), &json!("test succeeded on main"))
    );
    assert_eq!(
        token(&op(&mut world, json!({ "ref": "nope" }))),
        "unknown-ref"
    );
    let failure = StepFailure::new(FailureKind::Exit, "no");
    world
        .platform
        .borrow_mut()
        .failures
        .push(("op-clone", failure));
    let failed = op(&mut world, json!({}));
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .starts_with("op-failed at op-clone: "),
        "{failed}"
    );
    let steps = world.platform.borrow().steps.clone();
    assert!(
        steps.ends_with(&["op-remove".into(), "home-clean".into()]),
        "{steps:?}"
    );
    assert_eq!(world.pool(), json!({}));
    let status = op(&mut world, json!({ "op": "status" }));
    assert!(
        status["summary"]
            .as_str()
            .unwrap()
            .starts_with("warm at main@"),
        "{status}"
    );
    let mut commands = record();
    commands.commands.insert(
        ars_resident::names::CommandName::parse("test").unwrap(),
        ars_resident::names::TableCommand::parse("false").unwrap(),
    );
    world.call(Call::Reconfigure {
        record: Box::new(commands),
    });
    assert_eq!(
        op(&mut world, json!({}))["exitCode"],
        1,
        "a failing command is a result"
    );
}

#[test]
fn sweep_evicts_idle_trees_and_keeps_unsaved_ones() {
    let mut world = World::warm();
    world.attach("load:clean", main_ref());
    world.attach("load:dirty", main_ref());
    world.exec("load:dirty", "edit");
    world.run_for(2 * HOUR + MINUTE);
    let why: Vec<_> = world
        .view()
        .threads
        .into_iter()
        .map(|row| row.evicted_why)
        .collect();
    assert_eq!(why.iter().flatten().collect::<Vec<_>>(), ["clean-idle"]);
    let purged = world
        .call(Call::Purge {
            prefix: serde_json::from_value(json!("load:")).unwrap(),
        })
        .body;
    assert_eq!(purged, json!({ "purged": 2, "keptLive": 0 }));
    assert_eq!(world.pool(), json!({}));
}

/// A new deployment meets the previous deployment's container. Work in it stays.
#[test]
fn older_image_is_replaced_before_an_attach() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    world.platform.borrow_mut().is_image_current = false;
    world.restart();
    let kept = world.attach("load:2", main_ref());
    assert!(kept["user"].is_string(), "unsaved work stays: {kept}");
    assert_eq!(world.detach("load:1", true)["released"], true);
    let stale = world.attach("load:2", main_ref());
    assert_eq!(
        (token(&stale), &stale["status"]),
        ("image-stale", &json!(503)),
        "{stale}"
    );
    assert_eq!(stale["state"], "restoring");
    world.platform.borrow_mut().is_image_current = true;
    let attached = world.attach("load:2", main_ref());
    assert!(attached["user"].is_string(), "{attached}");
}

/// Returns the step names in an attach.
fn trace(attached: &Value) -> Vec<&str> {
    attached["trace"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect()
}

fn takes_spare(world: &mut World, thread: &str, git_ref: &str) -> bool {
    let attached = world.attach(thread, json!({ "refHint": git_ref }));
    assert!(attached["user"].is_string(), "{attached}");
    let trace = trace(&attached);
    let takes = trace.contains(&"spare-take");
    assert_eq!(trace.contains(&"worktree-clone"), !takes, "{trace:?}");
    assert_eq!(attached["deps"], "hardlink");
    takes
}

#[test]
fn attach_takes_the_spare_tree_of_its_commit() {
    let mut world = World::warm();
    world.run_for(10 * SECOND);
    assert!(
        !takes_spare(&mut world, "load:feature", "feature"),
        "another branch"
    );
    assert!(takes_spare(&mut world, "load:1", "main"));
    assert!(!takes_spare(&mut world, "load:2", "main"), "it was taken");
    world.run_for(10 * SECOND);
    assert!(
        takes_spare(&mut world, "load:3", "main"),
        "another one is made"
    );
    world.run_for(10 * SECOND);
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(9));
    let moved = world.attach("load:4", json!({ "refHint": "main", "sha": sha(9) }));
    assert_eq!(moved["sha"], json!(sha(9)));
    assert!(trace(&moved).contains(&"worktree-clone"), "{moved}");
}

#[test]
fn lost_spare_tree_is_replaced_by_a_clone() {
    let mut world = World::warm();
    world.run_for(10 * SECOND);
    let failure = StepFailure::new(FailureKind::NotFound, "not on the disk");
    world
        .platform
        .borrow_mut()
        .failures
        .push(("spare-take", failure));
    let attached = world.attach("load:1", main_ref());
    assert_eq!(attached["deps"], "hardlink", "{attached}");
    assert!(trace(&attached).contains(&"worktree-clone"));
}

#[test]
fn lost_spare_tree_does_not_lose_a_replaced_one() {
    let mut world = World::warm();
    world.attach("load:1", main_ref());
    world.exec("load:1", "edit");
    world.run_for(10 * SECOND);
    let failure = StepFailure::new(FailureKind::NotFound, "not on the disk");
    world
        .platform
        .borrow_mut()
        .failures
        .push(("spare-take", failure));
    // Another mode replaces the tree.
    let attached = world.attach("load:1", json!({ "readonly": true }));
    assert_eq!(attached["recreated"], true, "{attached}");
    assert_eq!(
        trace(&attached)
            .iter()
            .filter(|step| **step == "worktree-checkpoint")
            .count(),
        1
    );
    assert_eq!(
        world.view().threads[0].checkpoint.as_deref(),
        Some("refs/ars/thread/1")
    );
}

#[test]
fn spare_tree_is_not_taken_while_it_is_made() {
    let mut world = World::warm();
    world.run_for(10 * SECOND);
    assert!(takes_spare(&mut world, "load:1", "main"));
    world.platform.borrow_mut().slow_step = Some("spare-clone");
    world.run_for(10 * SECOND);
    assert!(
        !takes_spare(&mut world, "load:2", "main"),
        "the second one is not complete"
    );
    world.run_for(2 * MINUTE);
    assert!(takes_spare(&mut world, "load:3", "main"));
}

#[test]
fn failed_spare_tree_is_made_again() {
    let mut world = World::warm();
    for _ in 0..2 {
        let failure = StepFailure::new(FailureKind::Exit, "killed");
        world
            .platform
            .borrow_mut()
            .failures
            .push(("spare-clone", failure));
    }
    world.run_for(10 * SECOND);
    assert!(world.view().has_spare);
}

/// The branch moves while the task makes a tree from the previous commit.
#[test]
fn spare_tree_follows_a_refresh_beside_its_making() {
    let mut world = World::warm();
    world.platform.borrow_mut().slow_step = Some("spare-clone");
    world.run_for(3 * SECOND);
    assert!(!world.view().has_spare);
    world
        .platform
        .borrow_mut()
        .branches
        .insert("main".into(), sha(9));
    world.call(Call::Debug {
        op: DebugOp::RefreshNow,
    });
    world.run_for(2 * MINUTE);
    assert!(takes_spare(&mut world, "load:1", "main"));
}

#[test]
fn detach_of_the_last_user_makes_a_spare_tree() {
    let mut world = World::warm();
    for number in 0..POOL_USERS_MAX {
        world.attach(&format!("load:{number}"), main_ref());
    }
    world.run_for(10 * SECOND);
    assert!(!world.view().has_spare);
    world.detach("load:0", true);
    world.run_for(10 * SECOND);
    assert!(world.view().has_spare);
}

#[test]
fn returned_last_user_makes_a_spare_tree() {
    let operation =
        serde_json::from_value(json!({ "resource": resource(), "op": "test" })).unwrap();
    let failed = attach_call("load:last", &main_ref());
    for (call, slow, is_done) in [
        (Call::Op { request: operation }, "op-run", true),
        (failed, "worktree-clone", false),
    ] {
        let mut world = World::warm();
        for number in 1..POOL_USERS_MAX {
            world.attach(&format!("load:{number}"), main_ref());
        }
        world.platform.borrow_mut().slow_step = Some(slow);
        let answer = world.start(call);
        world.run_for(10 * SECOND);
        assert!(!world.view().has_spare, "{slow}");
        if !is_done {
            let broken = StepFailure::new(FailureKind::Exit, "fatal");
            world.platform.borrow_mut().failures.push((slow, broken));
        }
        assert_eq!(
            world.finish(answer).unwrap().body.get("error").is_none(),
            is_done,
            "{slow}"
        );
        world.run_for(10 * SECOND);
        assert!(world.view().has_spare, "{slow}");
    }
}

#[test]
fn rebuild_ends_the_spare_tree() {
    let mut world = World::warm();
    world.run_for(10 * SECOND);
    assert!(world.view().has_spare);
    world.call(Call::Rebuild { dry_run: false });
    world.run_until(|world| world.state() == "warm");
    assert!(!world.view().has_spare, "it is of the workspace before");
    world.run_for(10 * SECOND);
    assert!(world.view().has_spare);
}

#[test]
fn full_disk_has_no_spare_tree() {
    let mut world = World::warm();
    world.run_for(10 * SECOND);
    let spares = |world: &World| {
        let platform = world.platform.borrow();
        platform
            .container
            .as_ref()
            .unwrap()
            .trees
            .keys()
            .filter(|tree| *tree == SPARE)
            .count()
    };
    assert_eq!(spares(&world), 1);
    world.platform.borrow_mut().free_kib = 1000;
    world.call(Call::Debug {
        op: DebugOp::MeasureDisk,
    });
    assert_eq!(token(&world.attach("load:1", main_ref())), "disk-pressure");
    assert_eq!(spares(&world), 0, "a thread needs the room more");
}
