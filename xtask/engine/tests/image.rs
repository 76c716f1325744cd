//! The image on a real engine: content and user, and that it needs nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail their test")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ars_engine::{Engine, Image, Run, bot_image};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for the bot's first answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum image size in bytes.
const LIMIT: u64 = 55_000_000;

/// A container that is removed when the test is over.
struct Running<'a> {
    engine: &'a Engine,
    id: String,
    port: u16,
}

impl<'a> Running<'a> {
    fn start(engine: &'a Engine, image: &Image, run: &Run<'_>) -> Self {
        let (id, port) = engine.run(image, run).unwrap();
        Self { engine, id, port }
    }

    /// Returns the container's process and monitor, read before either receives a signal.
    fn processes(&self) -> (Pid, Pid) {
        // Until it answers, the process may still be the engine's own.
        self.health();
        let process = self.engine.inspect(&self.id).unwrap()["State"]["Pid"]
            .as_u64()
            .unwrap();
        let watcher = parent(process);
        let program = |pid: u64| std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert!(program(process).ends_with("ars"), "{:?}", program(process));
        assert!(
            program(watcher).ends_with("conmon"),
            "{:?}",
            program(watcher)
        );
        let [process, watcher] =
            [process, watcher].map(|pid| Pid::from_raw(i32::try_from(pid).unwrap()).unwrap());
        (process, watcher)
    }

    fn health(&self) -> Value {
        let began = Instant::now();
        loop {
            if let Some(body) = ask(self.port) {
                return serde_json::from_str(&body).unwrap();
            }
            let state = &self.engine.inspect(&self.id).unwrap()["State"]["Running"];
            let logs = || self.engine.logs(&self.id).unwrap();
            assert!(
                state == true && began.elapsed() < TIMEOUT,
                "it does not answer: {}",
                logs()
            );
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.engine.remove(&self.id).unwrap();
    }
}

fn ask(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n")
        .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

#[test]
fn image_runs_unprivileged_on_a_read_only_root() {
    let engine = Engine::ensure(&|line| eprintln!("{line}")).unwrap();
    let image = bot_image(&engine, &|line| eprintln!("{line}")).unwrap();
    assert!(image.bytes < LIMIT, "{} bytes", image.bytes);

    let bot = Running::start(
        &engine,
        &image,
        &Run {
            read_only: true,
            ..Run::default()
        },
    );
    let health = bot.health();
    assert_eq!(health["ok"], true);
    assert!(health["build"]["builtAt"].is_string(), "{health}");
    assert_ne!(health["build"]["commit"], "unknown");

    let known = engine.inspect(&bot.id).unwrap();
    assert_eq!(known["HostConfig"]["ReadonlyRootfs"], true);
    assert_eq!(known["Config"]["User"], "65532:65532");
    let process = known["State"]["Pid"].as_u64().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let users = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .unwrap();
    assert!(
        users.split_whitespace().all(|user| user == "65532"),
        "{users}"
    );

    let (skills, others): (Vec<_>, Vec<_>) = files(&engine.export(&bot.id).unwrap())
        .into_iter()
        .partition(|name| name.starts_with("etc/ars/skills/"));
    assert!(
        !skills.is_empty() && skills.iter().all(|name| name.ends_with("/SKILL.md")),
        "{skills:?}"
    );
    assert_eq!(
        others,
        [
            "ars",
            "etc/ars/build.json",
            "etc/ssl/certs/ca-certificates.crt"
        ]
    );
    let log = engine.logs(&bot.id).unwrap();
    assert!(!log.contains("ERROR"), "{log}");

    let variables = known["Config"]["Env"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str);
    let variables: BTreeSet<_> = variables
        .filter_map(|entry| entry.split_once('='))
        .map(|(name, _)| name)
        .collect();
    // The engine's own, and those from the Dockerfile: nothing that could be a secret.
    let ours = [
        "ARS_BUILD_STAMP",
        "ARS_DATA_DIR",
        "SERVICE_SKILLS_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
    ];
    let engines = ["HOME", "HOSTNAME", "PATH", "TERM", "container"];
    assert!(
        ours.iter().all(|name| variables.contains(name)),
        "{variables:?}"
    );
    assert!(
        variables
            .iter()
            .all(|name| ours.contains(name) || engines.contains(name)),
        "{variables:?}"
    );

    let shell = Run {
        entrypoint: Some(&["/bin/sh"]),
        ..Run::default()
    };
    assert!(engine.run(&image, &shell).is_err(), "the image has a shell");
}

#[test]
fn container_that_died_unmonitored_frees_its_port() {
    let Some(engine) = own_engine() else { return };
    let image = bot_image(&engine, &|line| eprintln!("{line}")).unwrap();
    let bot = Running::start(&engine, &image, &Run::default());
    let (process, watcher) = bot.processes();
    for pid in [watcher, process] {
        kill_process(pid, Signal::KILL).unwrap();
    }
    until_it_died(process);
    let _next = Engine::ensure(&|line| eprintln!("{line}")).unwrap();
    let _listener = TcpListener::bind(("127.0.0.1", bot.port)).unwrap();
    let reached = TcpStream::connect(("127.0.0.1", bot.port));
    assert!(reached.is_ok(), "{reached:?}");
}

#[test]
fn monitored_end_is_left_to_the_monitor() {
    let Some(engine) = own_engine() else { return };
    let image = bot_image(&engine, &|line| eprintln!("{line}")).unwrap();
    let bot = Running::start(&engine, &image, &Run::default());
    let (process, watcher) = bot.processes();
    kill_process(watcher, Signal::STOP).unwrap();
    kill_process(process, Signal::KILL).unwrap();
    until_it_died(process);
    let next = Engine::ensure(&|line| eprintln!("{line}"));
    kill_process(watcher, Signal::CONT).unwrap();
    let next = next.unwrap();
    let began = Instant::now();
    let state = loop {
        let known = next
            .inspect(&bot.id)
            .expect("the container was removed before its end was reported");
        if known["State"]["Running"] == false {
            break known["State"].clone();
        }
        assert!(
            began.elapsed() < TIMEOUT,
            "its end was not reported: {}",
            known["State"]
        );
    };
    assert_eq!(state["ExitCode"], 137, "{state}");
}

/// Returns our own podman: the tests kill its processes.
fn own_engine() -> Option<Engine> {
    let engine = Engine::ensure(&|line| eprintln!("{line}")).unwrap();
    let is_own = engine.is_own();
    if !is_own {
        eprintln!("not tested: the engine of this machine is not ours");
    }
    is_own.then_some(engine)
}

fn until_it_died(process: Pid) {
    let began = Instant::now();
    while std::fs::read_link(format!("/proc/{}/exe", process.as_raw_nonzero())).is_ok() {
        assert!(began.elapsed() < TIMEOUT, "it does not die");
    }
}

fn parent(process: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Returns the regular files with content.
/// Engines add empty ones as mount points, and files with the machine's name.
fn files(archive: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap().map(Result::unwrap);
    let regular = entries.filter(|entry| entry.header().entry_type().is_file() && entry.size() > 0);
    let name =
        |path: std::path::PathBuf| path.to_string_lossy().trim_start_matches("./").to_owned();
    let mut names: Vec<_> = regular
        .map(|entry| name(entry.path().unwrap().into_owned()))
        .collect();
    names.retain(|name| !["etc/hosts", "etc/hostname", "etc/resolv.conf"].contains(&name.as_str()));
    names.sort();
    names
}
