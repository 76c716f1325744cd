//! A soak drill for a resident in a container: attach, write, read, exec and detach.
//!
//! The short form runs in CI, and `cargo xtask drill soak` runs the long form (docs/testing.md).

use ars_testkit::gauges::Soak;
use ars_tests_residents::World;
use serde_json::{Value, json};

/// Units with five calls in a short form round.
const UNITS: usize = 1;
const THREAD: &str = "http:default.soak";
const FILES: [(&str, &str); 2] = [("README.md", "hello\n"), (".gitignore", "node_modules\n")];

/// The daemon and the Worker's runtime hold no more after many calls.
#[test]
fn soak_of_a_resident_in_a_container_is_flat() {
    let world = World::start();
    let commands =
        json!({ "test": "true", "build": "true", "install": "mkdir -p node_modules/dep" });
    let resource = world.onboard("acme/app", &FILES, &commands);
    let call = |path: &str, fields: Value| {
        let mut body = json!({ "resource": resource, "threadKey": THREAD });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        world.document(path, &body)
    };
    let mut soaks = world
        .watched()
        .map(|watched| Soak::new(watched, UNITS, |name| std::env::var(name).ok()));
    for _ in 0..soaks[0].rounds() {
        for _ in 0..soaks[0].units() {
            call("/attach", json!({ "refHint": "main" }));
            assert_eq!(
                call("/write", json!({ "path": "note.txt", "content": "x" }))["ok"],
                true
            );
            assert_eq!(call("/read", json!({ "path": "note.txt" }))["content"], "x");
            // Nothing is left for a checkpoint, which would stay in the mirror.
            assert_eq!(
                call("/exec", json!({ "command": "rm note.txt" }))["exitCode"],
                0
            );
            assert_eq!(call("/detach", json!({}))["released"], true);
        }
        world.wait(&resource, "rest", |live| {
            live["inFlight"] == 0 && live["hasSpare"] == true
        });
        for soak in &mut soaks {
            soak.look(|| {
                world.live(&resource)["threads"]
                    .as_array()
                    .map_or(0, |threads| threads.len() as u64)
            });
        }
    }
    soaks[0].finish("the daemon of a resident in a container");
    soaks[1].finish("the runtime of the resident Worker");
}
