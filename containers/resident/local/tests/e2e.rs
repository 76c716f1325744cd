//! A resident on this machine with real git: from the first clone to the removal.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are sent"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use ars_resident::names::Resource;
use ars_resident::wire::Route;
use ars_resident_local::{LocalResidents, Settings};
use ars_resident_testkit::Unconfined;
use ars_sql::Sql as _;
use ars_sql_native::NativeSql;
use ars_testkit::gauges::{MEMORY_SLACK_KIB, Soak, Watched};
use serde_json::{Value, json};
use tempfile::TempDir;

const RESOURCE: &str = "repo:acme/app";
/// Time in which a cycle ends on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(90);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A code host with a single repository, and a data directory.
struct World {
    folder: TempDir,
    residents: Option<LocalResidents>,
    runtime: tokio::runtime::Runtime,
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Opens the residents in a world's data directory.
fn open(world: &Path) -> LocalResidents {
    let origin = world.join("origin.git").display().to_string();
    let residents = LocalResidents::open(Settings {
        folder: world.join("data"),
        confine: Arc::new(|_| Arc::new(Unconfined)),
        environment: vec![("PATH".to_owned(), PATH.to_owned())],
        of_service: Vec::new(),
        origins: Arc::new(move |resource: &Resource| {
            (resource.as_str() == RESOURCE).then(|| origin.clone())
        }),
        tokens: None,
        build: "test".to_owned(),
    });
    residents.unwrap()
}

impl World {
    fn new() -> Self {
        let mut world = Self::unopened();
        world.start();
        world
    }

    fn unopened() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        git(&source, &["init", "--quiet"]);
        fs::write(source.join("README.md"), "hello\n").unwrap();
        fs::write(source.join("package-lock.json"), "{}\n").unwrap();
        fs::write(source.join(".gitignore"), "node_modules\ndist\n").unwrap();
        for number in 0..200 {
            fs::write(
                source.join(format!("file-{number}.txt")),
                format!("{number}\n"),
            )
            .unwrap();
        }
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "-m", "First"]);
        git(
            folder.path(),
            &["clone", "--quiet", "--bare", "source", "origin.git"],
        );
        git(&source, &["remote", "add", "origin", "../origin.git"]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            folder,
            residents: None,
            runtime,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Opens the residents in the data directory, as another process would.
    fn start(&mut self) {
        self.residents = None;
        self.residents = Some(open(self.folder.path()));
    }

    fn send(&self, route: Route, fields: Value) -> Value {
        let mut body = json!({ "resource": RESOURCE });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let residents = self.residents.as_ref().unwrap();
        let sent = residents.send(route, Some(RESOURCE.to_owned()), body.to_string());
        self.runtime.block_on(sent).unwrap().body
    }

    fn thread(&self, route: Route, thread: &str, fields: Value) -> Value {
        let mut body = json!({ "threadKey": thread });
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        self.send(route, body)
    }

    fn view(&self) -> Value {
        self.send(Route::Debug, json!({ "op": "info" }))
    }

    fn onboard(&self) -> Value {
        // Installing packages is a command that writes a folder, with the time at which it ran.
        let commands = json!({
            "install": "mkdir -p node_modules/dep && cd node_modules/dep && echo 1 > index.js && date +%s%N > at",
            "build": "mkdir -p dist && cp README.md dist/",
            "test": "test -f node_modules/dep/index.js && grep -q hello README.md && echo passed",
        });
        self.send(
            Route::Onboard,
            json!({ "defaultRef": "main", "commands": commands }),
        )
    }

    /// Waits until the view fulfils a condition.
    fn wait(&self, what: &str, done: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let view = self.view();
            if done(&view) {
                return view;
            }
            assert!(start.elapsed() < TIMEOUT, "not {what}: {view:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn warm(&self) -> Value {
        self.wait("warm", |view| {
            assert_ne!(view["state"], "down", "{view:#}");
            view["state"] == "warm"
        })
    }

    fn push(&self, text: &str) -> String {
        let source = self.folder.path().join("source");
        fs::write(source.join("README.md"), text).unwrap();
        git(&source, &["commit", "--quiet", "-am", "Next"]);
        git(&source, &["push", "--quiet", "origin", "main"]);
        git(&source, &["rev-parse", "HEAD"])
    }

    fn exec(&self, thread: &str, command: &str) -> Value {
        self.thread(Route::Exec, thread, json!({ "command": command }))
    }
}

/// A caller who leaves ends the command, and the thread may be detached.
#[test]
fn command_ends_with_its_caller() {
    let world = World::new();
    world.onboard();
    world.warm();
    world.thread(Route::Attach, "load:1", json!({ "refHint": "main" }));
    let begun = world.folder.path().join("begun");
    let command = format!("touch {} && sleep 600", begun.display());
    let body = json!({ "resource": RESOURCE, "threadKey": "load:1", "command": command });
    let residents = world.residents.as_ref().unwrap();
    let sent = residents.send(Route::Exec, None, body.to_string());
    world.runtime.block_on(async {
        let has_begun = async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            reply = sent => panic!("{reply:?}"),
            () = has_begun => {}
        }
    });
    world.wait("at rest", |view| view["inFlight"] == 0);
    assert_eq!(
        world.thread(Route::Detach, "load:1", json!({}))["released"],
        true
    );
}

#[test]
fn resident_lives_on_one_machine() {
    let mut world = World::new();
    assert_eq!(world.onboard()["state"], "onboarding");
    let view = world.warm();
    assert_eq!(view["snapshot"]["sha"], view["sha"]);

    // A thread gets a tree with dependencies and build results, and commands run in it.
    let attached = world.thread(Route::Attach, "load:1", json!({ "refHint": "main" }));
    assert_eq!(
        (&attached["sha"], &attached["credentials"]),
        (&view["sha"], &json!("unavailable")),
        "{attached:#}"
    );
    let ran = world.exec(
        "load:1",
        "cat README.md node_modules/dep/index.js dist/README.md; exit 3",
    );
    assert_eq!(
        (&ran["stdout"], &ran["exitCode"]),
        (&json!("hello\n1\nhello\n"), &json!(3)),
        "{ran:#}"
    );
    let slow = world.thread(
        Route::Exec,
        "load:1",
        json!({ "command": "echo so far; sleep 30", "timeoutMs": 1_000 }),
    );
    assert_eq!(
        (&slow["stdout"], &slow["exitCode"]),
        (&json!("so far\n"), &json!(124)),
        "{slow:#}"
    );
    let written = world.thread(
        Route::Write,
        "load:1",
        json!({ "path": "notes/new.txt", "content": "work\n" }),
    );
    assert_eq!(written, json!({ "ok": true, "bytes": 5 }));
    assert_eq!(
        world.thread(Route::Read, "load:1", json!({ "path": "notes/new.txt" }))["content"],
        "work\n"
    );
    let tested = world.send(Route::Op, json!({ "op": "test" }));
    assert_eq!(
        (&tested["ok"], &tested["stdout"]),
        (&json!(true), &json!("passed\n")),
        "{tested:#}"
    );

    // Unsaved work stays, or is saved before the tree is removed.
    let kept = world.thread(Route::Detach, "load:1", json!({}));
    assert!(
        kept["reason"].as_str().unwrap().starts_with("dirty: "),
        "{kept:#}"
    );
    assert_eq!(
        world.thread(Route::Detach, "load:1", json!({ "force": true }))["released"],
        true
    );
    let saved = world.view()["threads"][0]["checkpoint"]
        .as_str()
        .unwrap()
        .to_owned();
    let mirror = world.data().join("acme/app/workspace/mirror");
    assert_eq!(
        git(&mirror, &["show", &format!("{saved}:notes/new.txt")]),
        "work"
    );

    // A push arrives with the next refresh.
    let pushed = world.push("hello again\n");
    world.send(Route::Debug, json!({ "op": "refresh-now" }));
    world.wait("refreshed", |view| {
        view["sha"] == pushed.as_str() && view["state"] == "warm"
    });
    let attached = world.thread(Route::Attach, "load:2", json!({ "refHint": "main" }));
    assert_eq!(attached["sha"], pushed.as_str(), "{attached:#}");
    assert_eq!(
        world.exec("load:2", "cat dist/README.md")["stdout"],
        "hello again\n"
    );

    // Another process finds the tree warm.
    world.start();
    assert_eq!(
        world.exec("load:2", "cat README.md")["stdout"],
        "hello again\n"
    );
    assert!(world.view()["lastRestore"].is_null());

    // The disk is lost: mirror, checkout and dependencies come back from the archives before anything is served.
    let installed_at = world.exec("load:2", "cat node_modules/dep/at")["stdout"].clone();
    world.wait("archived with its dependencies", |_| {
        let plan = world.send(Route::Offboard, json!({ "dryRun": true }));
        plan["wouldRemove"]["backupObjects"] == 3
    });
    world.residents = None;
    fs::rename(
        world.data().join("acme/app/workspace"),
        world.folder.path().join("lost"),
    )
    .unwrap();
    world.start();
    let attached = world.thread(Route::Attach, "load:3", json!({ "refHint": "main" }));
    assert_eq!(attached["sha"], pushed.as_str(), "{attached:#}");
    assert!(world.view()["lastRestore"]["ms"].is_i64());
    assert_eq!(
        world.exec("load:3", "cat dist/README.md node_modules/dep/index.js")["stdout"],
        "hello again\n1\n"
    );
    assert_eq!(
        world.exec("load:3", "cat node_modules/dep/at")["stdout"],
        installed_at,
        "installed again"
    );
    let lost = world.exec("load:2", "true");
    assert_eq!(
        (&lost["needs"], &lost["exitCode"]),
        (&json!("attach"), &json!(127)),
        "{lost:#}"
    );

    let report = world.send(Route::Offboard, json!({}));
    let parts =
        ["registryRemoved", "containerStopped", "storageCleared"].map(|part| report[part].clone());
    assert_eq!(
        (parts, &report["errors"]),
        ([true; 3].map(Value::from), &json!([])),
        "{report:#}"
    );
    assert_eq!(report["backupObjectsDeleted"], 3);
    assert!(!world.data().join("acme/app/workspace").exists());
    assert_eq!(
        world.send(Route::Status, json!({}))["error"],
        "not-onboarded: repo:acme/app has no resident"
    );
}

#[test]
fn threads_have_users_of_their_own_and_keep_their_trees() {
    let world = World::new();
    world.onboard();
    world.warm();
    let attach = |number: usize, body| {
        let answer = world.thread(Route::Attach, &format!("load:{number}"), body);
        (
            answer["user"].as_str().expect("a user").to_owned(),
            answer["recreated"].clone(),
        )
    };
    let first: Vec<_> = (0..15)
        .map(|number| attach(number, json!({ "refHint": "main" })).0)
        .collect();
    assert_eq!(
        first
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        first.len(),
        "{first:?}"
    );
    // A later attach needs no ref, and finds user and tree.
    for (number, user) in first.iter().enumerate() {
        assert_eq!(attach(number, json!({})), (user.clone(), json!(false)));
    }
}

/// An earlier process's disk is there before the daemon is, so nothing counts as gone.
#[test]
fn unsaved_work_survives_a_restart_and_a_sweep() {
    let mut world = World::new();
    world.onboard();
    world.warm();
    world.thread(Route::Attach, "load:1", json!({ "refHint": "main" }));
    world.thread(
        Route::Write,
        "load:1",
        json!({ "path": "notes.txt", "content": "work\n" }),
    );
    world.send(
        Route::Debug,
        json!({ "op": "backdate-thread", "threadKey": "load:1", "days": 1 }),
    );
    world.start();
    let swept = world.send(Route::Debug, json!({ "op": "sweep-now" }));
    assert!(
        world.view()["threads"][0]["evictedWhy"].is_null(),
        "{swept:#}"
    );
    let attached = world.thread(Route::Attach, "load:1", json!({}));
    assert_eq!(attached["recreated"], false, "{attached:#}");
    assert_eq!(
        world.thread(Route::Read, "load:1", json!({ "path": "notes.txt" }))["content"],
        "work\n"
    );
}

#[test]
fn stop_ends_commands_before_the_disk_is_removed() {
    let world = World::new();
    world.onboard();
    world.warm();
    world.thread(Route::Attach, "load:1", json!({ "refHint": "main" }));
    let started = world.folder.path().join("started");
    let command = format!("touch {}; exec tail -f /dev/null", started.display());
    let body = json!({ "resource": RESOURCE, "threadKey": "load:1", "command": command });
    let residents = world.residents.as_ref().unwrap();
    let slow = residents.send(Route::Exec, Some(RESOURCE.to_owned()), body.to_string());
    world.runtime.block_on(async {
        let mut slow = std::pin::pin!(slow);
        while !started.exists() {
            let waited = tokio::time::timeout(Duration::from_millis(20), slow.as_mut()).await;
            assert!(waited.is_err(), "the command ended: {waited:?}");
        }
        let body = json!({ "resource": RESOURCE, "op": "stop-container" }).to_string();
        let stop = residents.send(Route::Debug, Some(RESOURCE.to_owned()), body);
        let (stopped, ended) = tokio::time::timeout(TIMEOUT, async { tokio::join!(stop, slow) })
            .await
            .unwrap();
        let (stopped, ended) = (stopped.unwrap().body, ended.unwrap().body);
        assert!(
            ended["error"]
                .as_str()
                .unwrap()
                .starts_with("runtime-replaced"),
            "{stopped:#} {ended:#}"
        );
    });
}

/// The variable for the world folder that this process serves until it is killed.
const HOSTED: &str = "ARS_TEST_HOSTED_WORLD";
/// The test that starts itself as such a process.
const KILLED: &str = "killed_process_continues_at_every_step";
/// Provisioning steps that started before the process is killed. Beyond the last step, a thread is
/// at work.
const KILLS: [u64; 9] = [2, 4, 6, 8, 10, 12, 14, 16, u64::MAX];

/// Onboards, lets a thread work, and waits until it ends.
fn host(world: PathBuf) {
    let hosted = World {
        residents: Some(open(&world)),
        // Within the world, which the creator removes.
        folder: tempfile::tempdir_in(&world).unwrap(),
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap(),
    };
    let onboarded = hosted.onboard();
    assert_eq!(onboarded["state"], "onboarding", "{onboarded:#}");
    hosted.warm();
    hosted.thread(Route::Attach, "load:1", json!({ "refHint": "main" }));
    let written = hosted.thread(
        Route::Write,
        "load:1",
        json!({ "path": "notes.txt", "content": "work\n" }),
    );
    assert_eq!(written["ok"], true, "{written:#}");
    hosted.exec(
        "load:1",
        &format!(
            "touch {}; exec sleep 1000.75",
            world.join("at-work").display()
        ),
    );
}

/// Returns the number of steps that started, and the current step.
fn progress(world: &Path) -> (u64, String) {
    let database = world.join("data/acme/app/state.sqlite3");
    let read = || {
        let text = NativeSql::open(&database)
            .ok()?
            .text("SELECT lifecycle FROM resident", &[])
            .ok()??;
        let state: Value = serde_json::from_str(&text).ok()?;
        Some((
            state["attempts"].as_u64()?,
            state["cycle"]["step"].as_str().unwrap_or("none").to_owned(),
        ))
    };
    // Before it has a log, another connection would lock the creator out.
    let has_log = database.with_extension("sqlite3-wal").exists();
    has_log.then(read).flatten().unwrap_or_default()
}

/// Kills a process at a number of started steps, and continues in this process. Returns the step
/// when it died.
fn kill_and_continue(kill_at: u64) -> String {
    let mut world = World::unopened();
    let folder = world.folder.path().to_owned();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", KILLED])
        .env(HOSTED, &folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while progress(&folder).0 < kill_at && !folder.join("at-work").exists() {
        assert!(
            start.elapsed() < TIMEOUT && child.try_wait().unwrap().is_none(),
            "{:?}",
            progress(&folder)
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let step = progress(&folder).1;
    let is_at_work = folder.join("at-work").exists();
    world.start();
    world.warm();
    let thread = if is_at_work { "load:1" } else { "load:2" };
    let attached = world.thread(Route::Attach, thread, json!({ "refHint": "main" }));
    assert_eq!(
        (attached["recreated"].as_bool(), is_at_work),
        (Some(false), is_at_work),
        "{step}: {attached:#}"
    );
    let ran = world.exec(
        thread,
        "cat README.md node_modules/dep/index.js dist/README.md",
    );
    assert_eq!(ran["stdout"], "hello\n1\nhello\n", "{step}: {ran:#}");
    if is_at_work {
        assert_eq!(
            world.thread(Route::Read, thread, json!({ "path": "notes.txt" }))["content"],
            "work\n"
        );
        let processes = world.exec(thread, "grep -lz '^1000.75' /proc/[0-9]*/cmdline");
        assert_eq!(processes["stdout"], "", "the killed command runs");
    }
    step
}

/// `kill -9` at any provisioning step or under a running command. Another process continues on the
/// disk.
#[test]
fn killed_process_continues_at_every_step() {
    if let Some(world) = std::env::var_os(HOSTED) {
        return host(world.into());
    }
    let threads = KILLS.map(|kill_at| std::thread::spawn(move || kill_and_continue(kill_at)));
    let steps = threads.map(|thread| thread.join().unwrap());
    let distinct: std::collections::BTreeSet<_> = steps.iter().collect();
    assert!(distinct.len() >= 5, "{steps:?}");
}

/// The long form has more rounds and units (docs/testing.md).
#[test]
fn soak_of_a_local_resident_is_flat() {
    const UNITS: usize = 1;
    let world = World::new();
    world.onboard();
    world.warm();
    let watched = Watched {
        pid: std::process::id(),
        folder: world.folder.path().to_owned(),
        history: &[],
        memory_slack_kib: MEMORY_SLACK_KIB,
    };
    let mut soak = Soak::new(watched, UNITS, |name| std::env::var(name).ok());
    let database = NativeSql::open(&world.data().join("acme/app/state.sqlite3")).unwrap();
    for _ in 0..soak.rounds() {
        for _ in 0..soak.units() {
            // Always the same thread, because a thread is bound for life.
            let thread = "load:1";
            let call = |route, fields| world.thread(route, thread, fields);
            assert!(call(Route::Attach, json!({ "refHint": "main" }))["user"].is_string());
            let path = "note.txt";
            assert_eq!(
                call(Route::Write, json!({ "path": path, "content": "x" }))["ok"],
                true
            );
            assert_eq!(call(Route::Read, json!({ "path": path }))["content"], "x");
            // Nothing is left for a checkpoint, which would stay in the mirror.
            assert_eq!(world.exec(thread, "rm note.txt")["exitCode"], 0);
            assert_eq!(call(Route::Detach, json!({}))["released"], true);
        }
        world.wait("at rest", |view| {
            view["inFlight"] == 0 && view["hasSpare"] == true
        });
        soak.look(|| {
            let rows = "SELECT (SELECT count(*) FROM threads) + (SELECT count(*) FROM checkpoints) \
                + (SELECT count(*) FROM backups)";
            u64::try_from(database.query(rows, &[]).unwrap()[0].integer(0).unwrap()).unwrap()
        });
    }
    soak.finish("a local resident");
}
