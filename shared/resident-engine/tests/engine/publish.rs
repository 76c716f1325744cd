//! Threads that push and check out.

use ars_resident::daemon::{FailureKind, StepFailure};
use ars_resident_engine::Call;
use serde_json::{Value, json};

use crate::container::sha;
use crate::world::{World, resource};

fn push(world: &mut World) -> Value {
    let body = json!({
        "resource": resource(), "threadKey": "load:1", "sha": sha(7), "branch": "ars/run-1/work",
    });
    world
        .call(Call::Push {
            request: serde_json::from_value(body).unwrap(),
        })
        .body
}

fn check_out(world: &mut World) -> Value {
    let from = json!({ "pullRequest": 7 });
    let body =
        json!({ "resource": resource(), "threadKey": "load:1", "sha": sha(7), "from": from });
    world
        .call(Call::CheckOut {
            request: serde_json::from_value(body).unwrap(),
        })
        .body
}

fn attached() -> World {
    let mut world = World::warm();
    world.attach("load:1", json!({ "refHint": "main" }));
    let mut platform = world.platform.borrow_mut();
    platform.steps.clear();
    platform.mints.clear();
    drop(platform);
    world
}

fn fail(world: &World, step: &'static str, words: &str) {
    let failure = StepFailure::new(FailureKind::Exit, words);
    world.platform.borrow_mut().failures.push((step, failure));
}

fn error(body: &Value) -> &str {
    body["error"].as_str().unwrap_or_default()
}

#[test]
fn push_goes_through_the_mirror() {
    let mut world = attached();
    assert_eq!(push(&mut world), json!({ "pushed": true }));
    let expected = ["commit-receive", "push", "push-note-mirror", "push-note"];
    assert_eq!(world.platform.borrow().steps, expected);
    // A lost note changes no result.
    fail(&world, "push-note", "fatal");
    assert_eq!(push(&mut world), json!({ "pushed": true }));
    fail(&world, "commit-receive", "fatal: bad object");
    let body = push(&mut world);
    assert!(
        error(&body).starts_with("op-failed at commit-receive: "),
        "{body}"
    );
}

#[test]
fn rejected_push_names_the_reason_of_the_host() {
    let mut world = attached();
    let words =
        "To https://host\nremote: error: GH006: Protected branch\nerror: failed to push some refs";
    fail(&world, "push", words);
    let reason = "remote: error: GH006: Protected branch";
    assert_eq!(
        push(&mut world),
        json!({ "pushed": false, "reason": reason })
    );
    assert_eq!(world.platform.borrow().mints, [true]);
    // An expired token is replaced once.
    world.platform.borrow_mut().mints.clear();
    fail(
        &world,
        "push",
        "fatal: Authentication failed for 'https://host'",
    );
    assert_eq!(push(&mut world), json!({ "pushed": true }));
    assert_eq!(world.platform.borrow().mints, [true, false]);
    world.platform.borrow_mut().mint_fails = true;
    fail(&world, "push", "fatal: could not read Username");
    let reason = push(&mut world)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("Username") && reason.contains("(without a token: "),
        "{reason}"
    );
}

#[test]
fn check_out_fetches_only_an_unknown_commit() {
    let mut world = attached();
    let known = ["commit-find", "commit-send", "check-out"];
    assert_eq!(check_out(&mut world), json!({ "sha": sha(7) }));
    assert_eq!(world.platform.borrow().steps, known);
    world.platform.borrow_mut().steps.clear();
    fail(&world, "commit-find", "");
    assert_eq!(check_out(&mut world), json!({ "sha": sha(7) }));
    assert_eq!(
        world.platform.borrow().steps,
        ["commit-find", "fetch-ref", known[0], known[1], known[2]]
    );
    for _ in 0..2 {
        fail(&world, "commit-find", "");
    }
    let body = check_out(&mut world);
    assert!(error(&body).starts_with("unknown-ref: "), "{body}");
    for (words, token) in [
        (
            "fatal: couldn't find remote ref refs/pull/7/head",
            "unknown-ref: ",
        ),
        (
            "fatal: unable to access 'https://host/': 503",
            "op-failed at fetch-ref: ",
        ),
    ] {
        fail(&world, "commit-find", "");
        fail(&world, "fetch-ref", words);
        let body = check_out(&mut world);
        assert!(error(&body).starts_with(token), "{body}");
    }
}

#[test]
fn thread_without_writable_tree_pushes_nothing() {
    let mut world = World::warm();
    for body in [push(&mut world), check_out(&mut world)] {
        assert_eq!(
            (error(&body).starts_with("not-attached"), &body["needs"]),
            (true, &json!("attach"))
        );
    }
    world.attach("load:1", json!({ "refHint": "main", "readonly": true }));
    let body = push(&mut world);
    assert!(error(&body).starts_with("op-refused: "), "{body}");
}
