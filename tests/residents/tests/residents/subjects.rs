//! A drill with two subjects who do not trust each other, on the same resident in a container.
//!
//! The same on a single machine: `containers/bot/app/tests/cli/subjects.rs`.

use ars_testkit::subjects::{FIND, HONEST, PASSED, PLANT, PLANTED, TIDY};
use ars_tests_residents::World;
use serde_json::{Value, json};

const NAME: &str = "acme/app";
const LOCKFILE: &str = "package-lock.json";
const FILES: [(&str, &str); 5] = [
    (
        "Makefile",
        "test:\n\ttest \"$$(cat node_modules/dep/at)\" = honest\n",
    ),
    (LOCKFILE, "{}\n"),
    (".gitignore", "node_modules\ndist\n"),
    (
        "install.sh",
        "mkdir -p node_modules/dep dist && echo honest > node_modules/dep/at\n",
    ),
    ("build.sh", "mkdir -p dist && echo honest > dist/built\n"),
];

struct Drill {
    world: World,
    resource: String,
}

impl Drill {
    fn attach(&self, thread: &str, branch: &str) -> Value {
        let body = json!({ "resource": self.resource, "threadKey": thread, "refHint": branch });
        self.world.document("/attach", &body)
    }

    fn release(&self, thread: &str) {
        let body = json!({ "resource": self.resource, "threadKey": thread, "force": true });
        assert_eq!(self.world.document("/detach", &body)["released"], true);
    }

    fn run(&self, thread: &str, command: &str) -> String {
        self.world.exec(&self.resource, thread, command).1
    }

    /// Attaches a thread that must find nothing, and works.
    fn look(&self, thread: &str, branch: &str) -> Value {
        let attached = self.attach(thread, branch);
        let found = self.run(thread, FIND);
        assert!(!found.contains(PLANTED), "{thread}: {found}");
        let worked = self.run(thread, &format!("{HONEST}; make -s test"));
        assert!(
            worked.contains(PASSED) && !worked.contains("Error"),
            "{thread}: {worked}"
        );
        attached
    }
}

/// A subject's commands, dependencies and branches leave nothing for another.
#[test]
fn one_subject_finds_nothing_of_another() {
    let world = World::start();
    let commands =
        json!({ "test": "make -s test", "build": "sh build.sh", "install": "sh install.sh" });
    let resource = world.onboard(NAME, &FILES, &commands);
    let drill = Drill { world, resource };

    // Beside the thread, and after it: its user goes to another subject.
    let planter = "http:default.ann";
    let user = drill.attach(planter, "main")["user"].clone();
    drill.run(planter, PLANT);
    let own = drill.run(planter, FIND);
    for place in ["/home/", "/tmp/", "refs/heads/", "node_modules/"] {
        let is_found = own
            .lines()
            .any(|line| line.contains(PLANTED) && line.contains(place));
        assert!(
            is_found,
            "the drill finds what was planted in {place}: {own}"
        );
    }
    drill.look("http:default.bob", "main");
    let tidied = drill.run(planter, TIDY);
    assert!(!tidied.contains(PLANTED), "{tidied}");
    drill.run(planter, PLANT);
    drill.release(planter);
    let next = (0..16).map(|number| format!("http:default.next-{number}"));
    let is_reused = next.into_iter().any(|thread| {
        let attached = drill.look(&thread, "main");
        attached["user"] == user
    });
    assert!(is_reused, "nobody got the user {user}");

    // Branch code installs and builds as the user that does so for the default branch.
    let [install, build] = ["install.sh", "build.sh"].map(|name| {
        let own = FILES
            .iter()
            .find(|(path, _)| *path == name)
            .map(|(_, text)| *text)
            .unwrap_or_default();
        (name, format!("{own}({PLANT})\n"))
    });
    let hostile: Vec<_> = [&install, &build]
        .map(|(name, text)| (*name, Some(text.as_str())))
        .into();
    drill.world.host.commit(NAME, "hostile", &hostile);
    drill.attach("http:default.eve", "hostile");
    let op = json!({ "resource": drill.resource, "op": "build", "ref": "hostile" });
    drill.world.document("/op", &op);
    let honest = format!("{}({FIND}) > dist/found 2>&1\n", FILES[4].1);
    let looking = format!("{}({FIND}) > node_modules/dep/found 2>&1\n", FILES[3].1);
    let files = [
        ("build.sh", Some(honest.as_str())),
        ("install.sh", Some(&looking)),
        (LOCKFILE, Some("{ }\n")),
    ];
    let pushed = drill.world.host.commit(NAME, "main", &files);
    drill.world.document(
        "/debug",
        &json!({ "op": "refresh-now", "resource": drill.resource }),
    );
    drill.world.wait(&drill.resource, "the push", |live| {
        live["state"] == "warm" && live["sha"].as_str() == Some(pushed.as_str())
    });
    let last = "http:default.last";
    drill.look(last, "main");
    let found = drill.run(last, "cat node_modules/dep/found dist/found && echo read");
    assert!(
        found.ends_with("read\n") && !found.contains(PLANTED),
        "{found}"
    );
}
