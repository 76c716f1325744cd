//! A running `cargo xtask up` under test: in its own directory, stopped with its processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Time between two looks at a condition; the test runner's timeout limits the wait.
const LOOK: Duration = Duration::from_millis(20);

/// Numbers the starts in order.
static STARTS: AtomicUsize = AtomicUsize::new(0);

/// The user's variables that a test must not inherit.
const OWN: &str = "ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL BRAVE_SEARCH_API_KEY \
    GITHUB_APP_ID GITHUB_APP_INSTALLATION_ID GITHUB_APP_PRIVATE_KEY GH_TOKEN GITHUB_BASE_URL GITHUB_WEBHOOK_SECRET SLACK_BOT_TOKEN SLACK_APP_TOKEN SLACK_BASE_URL DASHBOARD_TOKEN OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS \
    SERVICE_INGRESS_TOKENS SERVICE_CONFIG MEMORY_TOKEN SLACK_BASE_URL SLACK_BOT_TOKEN SLACK_APP_TOKEN RESIDENT_OPERATOR_TOKEN RESIDENT_ADMIN_TOKEN RESIDENT_READ_TOKEN PUBLIC_BASE_URL RUST_LOG";

/// The command. Dropping it kills it; processes it leaves are ended by the next start on the same
/// directory, or here.
pub struct Up {
    child: Child,
    ready_file: PathBuf,
    stdout: BufReader<ChildStdout>,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Up {
    /// Starts it on a data directory.
    pub fn start(data: &Path, arguments: &[&str]) -> Self {
        Self::start_with(data, arguments, |_| {})
    }

    /// Starts it with a changed process setup.
    pub fn start_with(data: &Path, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        // A separate file for each start, because a killed start's file remains.
        let ready_file = data.join(format!(
            "ready-{}.json",
            STARTS.fetch_add(1, Ordering::Relaxed)
        ));
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .arg("up")
            .args(arguments)
            .arg("--data-dir")
            .arg(data)
            .arg("--ready-file")
            .arg(&ready_file);
        for name in OWN.split(' ') {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", data.join("private"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::<Mutex<String>>::default();
        let output = Arc::clone(&said);
        let reader = thread::spawn(move || {
            for line in stderr.lines() {
                *output.lock().unwrap() += &format!("{}\n", line.unwrap());
            }
        });
        Self {
            child,
            ready_file,
            stdout,
            said,
            reader: Some(reader),
        }
    }

    /// Waits for the ready file and returns the content.
    pub fn ready(&mut self) -> Value {
        loop {
            if let Ok(text) = fs::read_to_string(&self.ready_file) {
                return serde_json::from_str(&text).unwrap();
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!(
                    "up ended ({status}) before it was ready:\n{}",
                    self.stderr()
                );
            }
            thread::sleep(LOOK);
        }
    }

    /// Returns the output up to a line with this text.
    pub fn output_until(&mut self, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            if self.stdout.read_line(&mut text).unwrap() == 0 {
                panic!(
                    "up ended without saying {wanted:?}:\n{text}\n{}",
                    self.stderr()
                );
            }
        }
        text
    }

    /// Waits for this text on standard error.
    pub fn wait_until_said(&self, wanted: &str) {
        while !self.said.lock().unwrap().contains(wanted) {
            thread::sleep(LOOK);
        }
    }

    /// Sends a signal to the command alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(pid(self.child.id()), signal).unwrap();
    }

    /// Returns the ready file's path.
    pub fn ready_file(&self) -> PathBuf {
        self.ready_file.clone()
    }

    /// Waits until it ends and returns status and standard error.
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.stderr())
    }

    /// Returns the process with that name that it started, once it exists.
    pub fn child_that_is(&self, name: &str) -> Pid {
        let own = self.child.id();
        loop {
            let mut listed = String::new();
            // Each thread has a list with the processes that it started.
            for thread in fs::read_dir(format!("/proc/{own}/task")).unwrap() {
                listed += &fs::read_to_string(thread.unwrap().path().join("children"))
                    .unwrap_or_default();
            }
            let comm =
                |id: &str| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            if let Some(id) = listed.split_whitespace().find(|id| comm(id).trim() == name) {
                return pid(id.parse().unwrap());
            }
            thread::sleep(LOOK);
        }
    }

    fn stderr(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // A test that failed: everything below is ended in order, as a user's Ctrl-C would.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill_process(pid(self.child.id()), Signal::INT);
            let _ = self.child.wait();
        }
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// Creates a data directory.
pub fn data() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Posts to the bot or to the state Worker: the status and the JSON.
pub fn post(url: &str, token: &Value, body: &Value) -> (u16, Value) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let token = format!("Bearer {}", token.as_str().unwrap());
    let mut answer = agent
        .post(url)
        .header("authorization", token)
        .send(body.to_string())
        .unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (
        answer.status().as_u16(),
        serde_json::from_str(&text).unwrap(),
    )
}

/// Returns the GET status with this bearer.
pub fn status_of(url: &str, token: &str) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let answer = agent
        .get(url)
        .header("authorization", format!("Bearer {token}"))
        .call()
        .unwrap();
    answer.status().as_u16()
}

/// Returns the answer to a GET, also a redirect.
pub fn get(url: &str, headers: &[(&str, &str)]) -> ureq::http::Response<String> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    let request = headers
        .iter()
        .fold(agent.get(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    let (head, mut body) = request.call().unwrap().into_parts();
    ureq::http::Response::from_parts(head, body.read_to_string().unwrap())
}

/// Waits for a condition.
pub fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::sleep(LOOK);
    }
}

/// Whether anybody listens at a URL.
pub fn listens(url: &Value) -> bool {
    let address = url.as_str().unwrap().trim_start_matches("http://");
    std::net::TcpStream::connect(address).is_ok()
}
