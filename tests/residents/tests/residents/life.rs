//! A resident's life: warm, attached, restarted, restored, removed.

use ars_testkit::github::Fault;
use ars_tests_residents::World;
use serde_json::{Value, json};

const FILES: [(&str, &str); 3] = [
    ("Makefile", "test:\n\ttest \"$$(cat answer)\" = 42\n"),
    ("answer", "41\n"),
    (".gitignore", "node_modules\n"),
];
const THREAD: &str = "http:default.one";

fn commands() -> Value {
    // Another installation would have another time.
    let install = "mkdir -p node_modules/dep && date +%s%N > node_modules/dep/at";
    json!({ "test": "make test", "build": "true", "install": install })
}

fn attach(world: &World, resource: &str, thread: &str) -> Value {
    let body = json!({ "resource": resource, "threadKey": thread, "refHint": "main" });
    world.document("/attach", &body)
}

fn refresh(world: &World, resource: &str) {
    world.document(
        "/debug",
        &json!({ "op": "refresh-now", "resource": resource }),
    );
}

/// A single container serves an onboarded repository while Worker and container die.
#[test]
fn resident_survives_worker_and_container() {
    let mut world = World::start();
    let resource = &world.onboard("acme/app", &FILES, &commands());

    // Thread commands run as separate users, which cannot become another.
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

    // A failing command from the table is a result, and a fixed command succeeds.
    let op = world.document("/op", &json!({ "resource": resource, "op": "test" }));
    assert_eq!(
        (&op["ok"], &op["exitCode"]),
        (&json!(false), &json!(2)),
        "{op}"
    );
    let commit = "echo 42 > answer && git -c user.name=a -c user.email=a@b commit -qam mend && git rev-parse HEAD";
    let (exit, head) = world.exec(resource, THREAD, commit);
    assert_eq!(exit, 0, "{head}");
    // The tree's token only fetches. The service pushes, from the mirror.
    assert_eq!(world.exec(resource, THREAD, "git fetch -q origin").0, 0);
    let (exit, output) = world.exec(resource, THREAD, "git push origin HEAD:refs/heads/ars/mend");
    assert!(exit != 0 && output.contains("403"), "{output}");
    let push = json!({ "resource": resource, "threadKey": THREAD, "sha": head.trim(), "branch": "ars/mend" });
    assert_eq!(world.document("/push", &push)["pushed"], true);
    assert_eq!(
        world
            .host
            .git("acme/app", &["show", "ars/mend:answer"])
            .trim(),
        "42"
    );
    let op = world.document(
        "/op",
        &json!({ "resource": resource, "op": "test", "ref": "ars/mend" }),
    );
    assert_eq!(op["ok"], true, "{op}");

    // A tree with work outlives the Worker, and a second attach finds it.
    assert_eq!(world.exec(resource, THREAD, "echo kept > note").0, 0);
    world.kill_and_restart();
    attach(&world, resource, THREAD);
    assert_eq!(
        world.exec(resource, THREAD, "cat note"),
        (0, "kept\n".to_owned())
    );

    // A snapshot follows a checkpoint by itself.
    let work = json!({ "resource": resource, "threadKey": THREAD, "run": "run-1" });
    let saved = world.document("/checkpoint", &work);
    assert_eq!(saved["checkpoint"]["isNew"], true, "{saved}");
    world.wait(resource, "a snapshot with the checkpoint", |live| {
        live["state"] == "warm"
            && live["lastCheckpointAt"].as_i64() < live["snapshot"]["createdAt"].as_i64()
    });

    // A container's disk is lost with it: mirror, checkout and dependencies return from the bucket, with the checkpoint.
    let installed_at = world.exec(resource, other, "cat node_modules/dep/at");
    assert_eq!(installed_at.0, 0, "{installed_at:?}");
    world.wait(resource, "an archive of the dependencies", |_| {
        let plan = world.document(
            "/offboard",
            &json!({ "resource": resource, "dryRun": true }),
        );
        plan["wouldRemove"]["backupObjects"] == 3
    });
    world.lose_containers();
    attach(&world, resource, other);
    let restored = world.live(resource);
    assert!(
        restored["state"] == "warm" && restored["lastRestore"].is_object(),
        "{restored}"
    );
    assert_eq!(
        world.exec(resource, other, "cat answer"),
        (0, "41\n".to_owned())
    );
    assert_eq!(
        world.exec(resource, other, "cat node_modules/dep/at"),
        installed_at,
        "it was installed again"
    );
    attach(&world, resource, THREAD);
    assert_ne!(world.exec(resource, THREAD, "cat note").0, 0);
    let given = world.document("/restore", &work);
    assert_eq!(given["sha"], saved["checkpoint"]["sha"], "{given}");
    assert_eq!(
        world.exec(resource, THREAD, "cat note"),
        (0, "kept\n".to_owned())
    );

    // It serves while the code host is down, and follows a branch that was rewritten.
    world
        .host
        .fail("GET /acme/app.git/info/refs", Fault::Unavailable);
    refresh(&world, resource);
    let failed = world.wait(resource, "a failed refresh", |live| {
        live["state"] == "degraded"
    });
    assert!(
        failed["reason"]
            .as_str()
            .unwrap()
            .starts_with("github-unreachable: "),
        "{failed}"
    );
    assert_eq!(world.exec(resource, other, "cat answer").0, 0);
    let made = world.host.git(
        "acme/app",
        &["commit-tree", "main^{tree}", "-m", "rewritten"],
    );
    world
        .host
        .git("acme/app", &["update-ref", "refs/heads/main", made.trim()]);
    refresh(&world, resource);
    world.wait(resource, "the rewritten branch", |live| {
        live["state"] == "warm" && live["sha"].as_str() == Some(made.trim())
    });

    let report = world.document("/offboard", &json!({ "resource": resource }));
    assert_eq!(
        (&report["registryRemoved"], &report["errors"]),
        (&json!(true), &json!([])),
        "{report}"
    );
    assert!(world.running().is_empty(), "its container runs");
}
