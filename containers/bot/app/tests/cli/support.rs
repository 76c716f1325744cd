//! A user's machine in a folder: home, data, a sample project, and the binary in a clean environment.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use ars_bot_adapters::stores::EmbeddedStores;
use ars_bot_ports::{Clock, RunStore as _};
use ars_sql::Sql as _;
use ars_sql_native::NativeSql;
use ars_testkit::{FakeAnthropic, Reply};
use ars_types::UnixMillis;
use ars_wire::runs::ListRequest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

/// Timeout for a test step, reached only by a hang.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// A value that an agent's shell must not see.
pub const CANARY: &str = "canary-7f3a9c51e2";
/// Ingress token for [`Server::start`].
pub const TOKEN: &str = "canary-7f3a9c51e2-token";
/// Ingress token for the other subject, `bob`.
const TOKEN_OF_BOB: &str = "canary-7f3a9c51e2-token-of-bob";

/// Command line for a server on a free port.
pub const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// A machine, and a model that gives these answers.
pub async fn answering<const N: usize>(replies: [Reply; N]) -> (Machine, FakeAnthropic) {
    let fake = FakeAnthropic::start().await;
    fake.push(replies);
    (Machine::new(), fake)
}

/// A single user's machine.
pub struct Machine {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A running command with standard error read line by line.
pub struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
    /// Standard error lines read so far.
    pub said: Vec<String>,
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> UnixMillis {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .ok()
            .and_then(|since| UnixMillis::try_from(since.as_millis()).ok())
            .unwrap()
    }
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["home", "elsewhere"] {
            std::fs::create_dir(machine.folder.path().join(folder)).unwrap();
        }
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns the path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A small project with a wrong greeting.
    pub fn project(&self) -> PathBuf {
        let project = self.path("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::fs::write(project.join("greeting.txt"), "helo\n").unwrap();
        git(&project, &["init", "-q"]);
        git(&project, &["add", "."]);
        git(&project, &["commit", "-qm", "first"]);
        project
    }

    /// Returns `ars` with an environment that has only PATH, in a folder that is not a repository.
    pub fn ars(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ars"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("ARS_DATA_DIR", self.path("data"))
            .current_dir(self.path("elsewhere"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// `ars` with an Anthropic model at this address.
    pub fn ars_with(&self, model_url: &str, arguments: &[&str]) -> Command {
        let mut command = self.ars(arguments);
        command
            .env("ANTHROPIC_API_KEY", format!("{CANARY}-key"))
            .env("ANTHROPIC_BASE_URL", model_url);
        command
    }

    /// Starts a server with an Anthropic model at this address, and an ingress token.
    pub async fn serve(&self, model_url: &str) -> Server {
        Server::start(&mut self.ars_with(model_url, &SERVE)).await
    }

    /// The same, with run pages that show all runs to this machine.
    pub async fn serve_openly(&self, model_url: &str) -> Server {
        let config = self.file(
            "open.toml",
            "[grants.\"access:loopback\"]\nchannels = \"all\"\n",
        );
        Server::start(
            self.ars_with(model_url, &SERVE)
                .env("SERVICE_CONFIG", config),
        )
        .await
    }

    /// Blocks every clone from a repository: git waits for a writer to a file there.
    pub fn gate_clones(&self, project: &Path) -> Gate {
        let refs = project.join(".git/packed-refs");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &refs, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Gate {
            project: project.display().to_string(),
            refs,
        }
    }

    /// Returns the store's complete records, newest first.
    pub async fn records(&self) -> Vec<Value> {
        let store = EmbeddedStores::open(&self.path("data"), Arc::new(WallClock), None).unwrap();
        let page = store.list(&ListRequest::default()).await.unwrap();
        let mut records = Vec::new();
        for item in page.items {
            records
                .push(serde_json::to_value(store.get(&item.id).await.unwrap().unwrap()).unwrap());
        }
        records
    }

    /// Ends the leases of a killed process, so that the next one reclaims its runs at once.
    pub fn end_leases(&self) {
        let store = NativeSql::open(&self.path("data/store.sqlite3")).unwrap();
        store
            .execute("UPDATE live_runs SET lease_until = 0", &[])
            .unwrap();
    }

    /// Returns the only record.
    pub async fn record(&self) -> Value {
        let mut records = self.records().await;
        assert_eq!(records.len(), 1, "{records:#?}");
        records.remove(0)
    }
}

/// Clones that are blocked.
pub struct Gate {
    project: String,
    refs: PathBuf,
}

impl Gate {
    pub async fn wait_until_begun(&self) {
        let begun = async {
            while !self.is_cloning() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, begun).await.expect("a clone begins");
    }

    fn is_cloning(&self) -> bool {
        let all = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path().join("cmdline"));
        all.filter_map(|path| std::fs::read_to_string(path).ok())
            .any(|arguments| arguments.contains("\0clone\0") && arguments.contains(&self.project))
    }

    pub fn open(&self) {
        // Opening it for both directions never waits, and lets a reader continue.
        let writer = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.refs)
            .unwrap();
        std::fs::remove_file(&self.refs).unwrap();
        drop(writer);
    }
}

/// An address that forwards connections once the gate is open.
pub async fn gated(to: &str) -> (TcpGate, String) {
    let to = to.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let gate = TcpGate {
        begun: watch::Sender::new(false),
        opened: watch::Sender::new(false),
    };
    let (begun, mut opened) = (gate.begun.clone(), gate.opened.subscribe());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            begun.send_replace(true);
            if opened.wait_for(|open| *open).await.is_err() {
                return;
            }
            let mut server = TcpStream::connect(&to).await.unwrap();
            // Either side may hang up.
            tokio::spawn(async move {
                drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
            });
        }
    });
    (gate, url)
}

/// Connections that are blocked.
pub struct TcpGate {
    begun: watch::Sender<bool>,
    opened: watch::Sender<bool>,
}

impl TcpGate {
    pub async fn wait_until_begun(&self) {
        let mut begun = self.begun.subscribe();
        timeout(TIMEOUT, begun.wait_for(|begun| *begun))
            .await
            .expect("somebody connects")
            .unwrap();
    }

    pub fn open(&self) {
        self.opened.send_replace(true);
    }
}

/// Runs a command until it ends.
pub async fn run(command: &mut Command) -> Ended {
    timeout(TIMEOUT, command.output())
        .await
        .expect("the command ends")
        .unwrap()
        .into()
}

/// Runs a command with this on standard input.
pub async fn run_with_input(command: &mut Command, input: &str) -> Ended {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    timeout(TIMEOUT, child.wait_with_output())
        .await
        .expect("the command ends")
        .unwrap()
        .into()
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Self {
            child,
            stdout,
            stderr,
            said: Vec::new(),
        }
    }

    /// Returns the next standard output line.
    pub async fn line(&mut self) -> String {
        let line = timeout(TIMEOUT, self.stdout.next_line())
            .await
            .expect("a line comes");
        line.unwrap().expect("standard output goes on")
    }

    /// Reads standard error until a line contains this text.
    pub async fn wait_for(&mut self, words: &str) -> String {
        loop {
            let line = timeout(TIMEOUT, self.stderr.next_line()).await;
            let line = line
                .unwrap_or_else(|_| panic!("no {words:?} in {:#?}", self.said))
                .unwrap();
            let line = line.unwrap_or_else(|| panic!("no {words:?} in {:#?}", self.said));
            self.said.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Returns the process that was started.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the process still runs")
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for the end.
    pub async fn ended(mut self) -> Ended {
        let rest = async {
            let mut stdout = String::new();
            while let Some(line) = self.stdout.next_line().await.unwrap() {
                stdout.push_str(&line);
                stdout.push('\n');
            }
            let mut rest = String::new();
            self.stderr
                .into_inner()
                .read_to_string(&mut rest)
                .await
                .unwrap();
            (stdout, rest, self.child.wait().await.unwrap())
        };
        let (stdout, rest, status) = timeout(TIMEOUT, rest).await.expect("the process ends");
        self.said.push(rest);
        Ended {
            code: status.code(),
            stdout,
            stderr: self.said.join("\n"),
        }
    }
}

impl From<std::process::Output> for Ended {
    fn from(output: std::process::Output) -> Self {
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        Self {
            code: output.status.code(),
            stdout,
            stderr,
        }
    }
}

impl Ended {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{self:#?}");
    }

    /// Fails unless the command exited with this code, error code and text, with an empty standard output.
    #[track_caller]
    pub fn assert_refused(&self, code: i32, error: &str, words: &[&str]) {
        self.assert_code(code);
        assert_eq!(self.stdout, "", "{self:#?}");
        let prefix = format!("error ({error}): ");
        let line = self.stderr.lines().find(|line| line.starts_with(&prefix));
        let line = line.unwrap_or_else(|| panic!("no {prefix:?} in {self:#?}"));
        assert!(
            words.iter().all(|word| line.contains(word)),
            "{words:?} in {line}"
        );
    }
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "init.defaultBranch=main",
    ];
    let status = std::process::Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .status();
    assert!(status.unwrap().success(), "{arguments:?}");
}

/// A running `ars serve`.
pub struct Server {
    pub running: Running,
    pub url: String,
    client: reqwest::Client,
}

impl Server {
    /// Starts it with a token for `ann`, who asks, and another for `bob`.
    pub async fn start(command: &mut Command) -> Self {
        let tokens =
            format!(r#"{{"{TOKEN}":{{"subject":"ann"}},"{TOKEN_OF_BOB}":{{"subject":"bob"}}}}"#);
        Self::start_as_is(command.env("SERVICE_INGRESS_TOKENS", tokens)).await
    }

    /// Starts it and reads where it listens.
    pub async fn start_as_is(command: &mut Command) -> Self {
        let mut running = Running::start(command);
        let line: Value = serde_json::from_str(&running.line().await).unwrap();
        let url = line["listening"].as_str().unwrap().to_owned();
        assert_eq!(line, serde_json::json!({ "listening": url }));
        Self {
            running,
            url,
            client: reqwest::Client::new(),
        }
    }

    /// Posts a request to the ingress.
    pub async fn ask(&self, body: &Value) -> (u16, Value) {
        self.ask_later(body).await.unwrap()
    }

    /// Posts a subject's request to the ingress.
    pub async fn ask_as(&self, subject: &str, body: &Value) -> (u16, Value) {
        let token = if subject == "bob" {
            TOKEN_OF_BOB
        } else {
            TOKEN
        };
        self.ask_with(token, body).await.unwrap()
    }

    /// Posts a request with an idempotency key to the ingress.
    pub async fn ask_once(&self, key: &str, body: &Value) -> (u16, Value) {
        let request = self
            .client
            .post(format!("{}/ingress", self.url))
            .bearer_auth(TOKEN)
            .json(body);
        let request = request.header("idempotency-key", key).send();
        let response = timeout(TIMEOUT, request)
            .await
            .expect("an answer comes")
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Posts a request to the ingress in a separate task.
    pub fn ask_later(&self, body: &Value) -> JoinHandle<(u16, Value)> {
        self.ask_with(TOKEN, body)
    }

    fn ask_with(&self, token: &str, body: &Value) -> JoinHandle<(u16, Value)> {
        let request = self
            .client
            .post(format!("{}/ingress", self.url))
            .bearer_auth(token)
            .json(body);
        tokio::spawn(async move {
            let response = timeout(TIMEOUT, request.send())
                .await
                .expect("an answer comes")
                .unwrap();
            (response.status().as_u16(), response.json().await.unwrap())
        })
    }

    /// Returns the server's base address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Reads a page as a local viewer.
    pub async fn page(&self, path: &str) -> reqwest::Response {
        let request = self.client.get(format!("{}{path}", self.url)).send();
        timeout(TIMEOUT, request)
            .await
            .expect("an answer comes")
            .unwrap()
    }

    pub async fn health(&self) -> Value {
        self.client
            .get(format!("{}/healthz", self.url))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    /// Polls the probe until it meets the condition.
    pub async fn health_when(&self, holds: impl Fn(&Value) -> bool) -> Value {
        let polled = async {
            loop {
                let health = self.health().await;
                if holds(&health) {
                    return health;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, polled).await.expect("the probe shows it")
    }

    /// Sends SIGKILL to the server.
    pub async fn kill(self) {
        self.running.signal(Signal::KILL);
        self.running.ended().await;
    }

    /// Sends SIGTERM and waits.
    pub async fn terminate(self) -> Ended {
        self.running.signal(Signal::TERM);
        self.running.ended().await
    }
}

/// Returns a record's event texts with this kind.
pub fn events<'a>(record: &'a Value, kind: &str) -> Vec<&'a Value> {
    record["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

/// Waits until a condition holds.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let polled = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, polled).await.expect(what);
}

/// Returns whether a process sleeps for this time. In a sandbox it has another number, so it is
/// recognized by the arguments.
pub fn sleeps(time: &str) -> bool {
    let arguments = format!("sleep\0{time}\0");
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("cmdline"));
    all.into_iter()
        .any(|path| std::fs::read_to_string(path).is_ok_and(|found| found == arguments))
}

/// An address without a listener.
pub fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
