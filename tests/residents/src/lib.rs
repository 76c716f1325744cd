//! Surroundings for residents: engine, image, Worker with the bucket, and a code host.
//!
//! The code host listens on the engine's bridge, because the Worker and the containers reach it at
//! the same address. Not here: the assertions (`tests/residents`).
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    reason = "test support: a broken set-up ends the test with its cause"
)]

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ars_engine::{Container, Engine, resident_image};
use ars_testkit::gauges::{MEMORY_SLACK_KIB, RUNTIME_MEMORY_SLACK_KIB, Watched};
use ars_testkit::github::FakeGitHub;
use ars_tests_workerd::{Answer, Client, TOKEN, npm, relay, resident_worker_build};
use ars_workerd::{ResidentSetup, Settings, Workerd, resident_settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Longest wait for a state; only a hang reaches it.
const STATE_LIMIT: Duration = Duration::from_secs(120);
/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Numbers the worlds in a process.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// Residents with everything around them.
pub struct World {
    engine: Engine,
    /// The fake code host.
    pub host: Arc<FakeGitHub>,
    client: Client,
    worker: Option<Workerd>,
    settings: Settings,
    containers: String,
    // Dropped after the host that runs on it.
    _runtime: Runtime,
    _data: TempDir,
}

impl World {
    /// Starts everything. The code host has no repository yet.
    pub fn start() -> Self {
        let print = |line: &str| eprintln!("{line}");
        let engine = Engine::ensure(&print).expect("a container engine");
        let image = resident_image(&engine, &print).expect("the image of residents");
        let runtime = Runtime::new().expect("a runtime");
        let host = Arc::new(runtime.block_on(FakeGitHub::start()));
        let gateway = IpAddr::V4(engine.gateway());
        let address = host
            .url()
            .trim_start_matches("http://")
            .parse()
            .expect("an address");
        let port = relay(gateway, address).expect("a port for containers");
        let app = host.app();
        let data = tempfile::tempdir().expect("a temporary directory");
        let [admin, operator, read] =
            ["admin", "operator", "read"].map(|scope| format!("{TOKEN}-{scope}"));
        let setup = ResidentSetup {
            name: format!(
                "ars-residents-{}-{}",
                std::process::id(),
                WORLDS.fetch_add(1, Ordering::Relaxed)
            ),
            data_dir: data.path().to_owned(),
            engine: engine.of_edge(&image),
            code_host: &format!("http://{gateway}:{port}"),
            app: [&app.id, &app.installation.to_string(), &app.private_key],
            tokens: [&admin, &operator, &read],
        };
        let settings =
            resident_settings(npm(), resident_worker_build(), setup).expect("readable settings");
        let worker = Workerd::start(&settings).expect("workerd starts");
        Self {
            engine,
            host,
            client: Client::new(worker.address()),
            worker: Some(worker),
            containers: settings.containers_prefix(),
            settings,
            _runtime: runtime,
            _data: data,
        }
    }

    /// Posts as the administrator.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.client.post(path, &format!("{TOKEN}-admin"), body)
    }

    /// Posts and returns the document on success.
    pub fn document(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body);
        let failed = answer.status >= 300 || answer.body["error"].is_string();
        assert!(
            !failed,
            "{path} {body}: {} {}\n{}",
            answer.status,
            answer.body,
            self.log()
        );
        answer.body
    }

    /// Runs a command in a thread's tree; returns exit code and output.
    pub fn exec(&self, resource: &str, thread: &str, command: &str) -> (i64, String) {
        let body = json!({ "resource": resource, "threadKey": thread, "command": command });
        let answer = self.document("/exec", &body);
        let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
        (
            answer["exitCode"].as_i64().expect("an exit code"),
            text("stdout") + &text("stderr"),
        )
    }

    /// Returns a resident's live view.
    pub fn live(&self, resource: &str) -> Value {
        let bearer = format!("Bearer {TOKEN}-read");
        let listed = self
            .client
            .send("GET", "/residents", &[("authorization", &bearer)], b"")
            .body;
        let residents = listed["residents"].as_array().expect("a list").clone();
        let found = residents
            .into_iter()
            .find(|found| found["resource"] == resource);
        found.map_or(Value::Null, |found| found["live"].clone())
    }

    /// Waits until the live view is as wanted.
    pub fn wait(&self, resource: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let live = self.live(resource);
            if holds(&live) {
                return live;
            }
            assert!(
                began.elapsed() < STATE_LIMIT,
                "not in time: {what}: {live}\n{}",
                self.log()
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Adds a repository in the sample's shape, onboards it and waits until it is warm.
    pub fn onboard(&self, name: &str, files: &[(&str, &str)], commands: &Value) -> String {
        self.host.add_repository(name, files);
        let resource = format!("repo:{name}");
        let request = json!({ "resource": resource, "commands": commands, "defaultRef": "main" });
        let answer = self.post("/onboard", &request);
        assert_eq!(
            (answer.status, &answer.body["warning"]),
            (202, &Value::Null),
            "{:?}",
            answer.body
        );
        let ended = |live: &Value| live["state"] == "warm" || live["state"] == "down";
        let live = self.wait(&resource, "an end of provisioning", ended);
        assert_eq!(live["state"], "warm", "{live}\n{}", self.log());
        resource
    }

    /// Returns the running containers.
    pub fn running(&self) -> Vec<Container> {
        let listed = self
            .engine
            .containers_named(&self.containers)
            .expect("a list of containers");
        listed.into_iter().filter(|found| found.running).collect()
    }

    /// Returns what a soak drill watches: the daemon with the disk, and the runtime with the data.
    pub fn watched(&self) -> [Watched; 2] {
        let [container] = &self.running()[..] else {
            panic!("not one container: {:?}", self.running())
        };
        let inspected = self.engine.inspect(&container.id).expect("a description");
        let first = inspected["State"]["Pid"].as_u64().expect("a process");
        // The container's first process only reaps.
        let children = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children"));
        let daemon = children
            .expect("children")
            .trim()
            .parse()
            .expect("one child");
        let workspace = PathBuf::from(format!("/proc/{daemon}/root/workspace"));
        let worker = self.worker.as_ref().expect("running").pid();
        [
            Watched {
                pid: daemon,
                folder: workspace,
                history: &[],
                memory_slack_kib: MEMORY_SLACK_KIB,
            },
            Watched {
                pid: worker,
                folder: self.settings.data_dir.clone(),
                // The log, and archives, which have a separate bound.
                history: &["workerd", "buckets"],
                memory_slack_kib: RUNTIME_MEMORY_SLACK_KIB,
            },
        ]
    }

    /// Removes every container with the disk, as a platform that replaces a machine does.
    pub fn lose_containers(&self) {
        for container in self.running() {
            self.engine.remove(&container.id).expect("removed");
        }
    }

    /// Kills the Worker's runtime and starts it again on the same data.
    pub fn kill_and_restart(&mut self) {
        drop(self.worker.take());
        let worker = Workerd::start(&self.settings).expect("workerd starts again");
        self.client = Client::new(worker.address());
        self.worker = Some(worker);
    }

    /// The folder in which the bucket's objects are.
    pub fn bucket(&self) -> PathBuf {
        self.settings.data_dir.join("objects/buckets")
    }

    /// Returns the output of the runtime and the Worker.
    pub fn log(&self) -> String {
        let log = self
            .worker
            .as_ref()
            .map(|worker| worker.log_path().to_owned());
        log.and_then(|log| std::fs::read_to_string(log).ok())
            .unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.worker.take());
        for container in self.running() {
            // The next engine start removes a container that stays.
            drop(self.engine.remove(&container.id));
        }
    }
}
