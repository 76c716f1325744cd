//! The life of a resident: warm, attached, restarted, restored, removed.

use ars_tests_residents::World;
use serde_json::{Value, json};

const FILES: [(&str, &str); 2] =
    [("Makefile", "test:\n\ttest \"$$(cat answer)\" = 42\n"), ("answer", "41\n")];
const THREAD: &str = "http:default.one";

fn commands() -> Value {
    json!({ "test": "make test", "build": "true" })
}

fn attach(world: &World, resource: &str, thread: &str) -> Value {
    let body = json!({ "resource": resource, "threadKey": thread, "refHint": "main" });
    world.document("/attach", &body)
}

/// One container serves an onboarded repository through the deaths of Worker and container.
#[test]
fn resident_survives_worker_and_container() {
    let mut world = World::start();
    let resource = &world.onboard("acme/app", &FILES, &commands());

    // Commands of threads run as users of their own, which cannot become another.
    let attached = attach(&world, resource, THREAD);
    assert_eq!(attached["credentials"], "ok", "{attached}");
    let (exit, output) = world.exec(resource, THREAD, "id -u; whoami; cat /proc/1/environ");
    assert_ne!(exit, 0, "{output}");
    let user: u32 = output.lines().next().unwrap().parse().unwrap();
    assert!((2002..=2017).contains(&user), "{output}");
    assert!(!output.contains("ARS_SANDBOXD_TOKEN"), "{output}");
    let other = "http:default.two";
    attach(&world, resource, other);
    let tree = attached["workspace"].as_str().unwrap();
    let (exit, output) = world.exec(resource, other, &format!("id -u; cat {tree}/answer"));
    assert!(exit != 0 && !output.contains("41"), "{output}");

    // A failing command of the table is a result, and a mended one succeeds.
    let op = world.document("/op", &json!({ "resource": resource, "op": "test" }));
    assert_eq!((&op["ok"], &op["exitCode"]), (&json!(false), &json!(2)), "{op}");
    let push = "echo 42 > answer && git -c user.name=a -c user.email=a@b commit -qam mend && git push -q origin HEAD:refs/heads/ars/mend";
    assert_eq!(world.exec(resource, THREAD, push), (0, String::new()));
    assert_eq!(world.host.git("acme/app", &["show", "ars/mend:answer"]).trim(), "42");
    let op = world.document("/op", &json!({ "resource": resource, "op": "test", "ref": "ars/mend" }));
    assert_eq!(op["ok"], true, "{op}");

    // A tree with work outlives the Worker, and a second attach finds it.
    assert_eq!(world.exec(resource, THREAD, "echo kept > note").0, 0);
    world.kill_and_restart();
    attach(&world, resource, THREAD);
    assert_eq!(world.exec(resource, THREAD, "cat note"), (0, "kept\n".to_owned()));

    // A container's disk is lost with it: mirror and checkout return from the bucket.
    world.lose_containers();
    attach(&world, resource, other);
    let restored = world.live(resource);
    assert!(restored["state"] == "warm" && restored["lastRestore"].is_object(), "{restored}");
    assert_eq!(world.exec(resource, other, "cat answer"), (0, "41\n".to_owned()));

    let report = world.document("/offboard", &json!({ "resource": resource }));
    assert_eq!((&report["registryRemoved"], &report["errors"]), (&json!(true), &json!([])), "{report}");
    assert!(world.running().is_empty(), "its container runs");
}
