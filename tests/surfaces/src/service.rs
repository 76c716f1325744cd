//! `ars serve` as a process, with a data directory in a temporary folder.

use std::{fs, path::PathBuf, process::Stdio};

use ars_testkit::OPERATOR_CONFIG;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// Secret for the run pages and the command routes.
pub const DASHBOARD_TOKEN: &str = "viewer";
/// The stand-in for a model.
const SCRIPT: &str = "[[turn]]\ntext = \"forty-two\"\n";

/// A running service. Dropping it ends the process.
pub struct Service {
    _child: Child,
    _data: TempDir,
    url: String,
}

impl Service {
    /// Builds the bot, and starts it with these ingress tokens. Each run ends with the
    /// answer `[rehearsal] forty-two`.
    ///
    /// # Panics
    /// When the bot cannot be built, or does not listen.
    pub async fn start(tokens: &str) -> Self {
        Self::start_with(tokens, &[]).await
    }

    /// As [`Service::start`], with further variables.
    ///
    /// # Panics
    /// When the bot cannot be built, or does not listen.
    pub async fn start_with(tokens: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_configured(tokens, variables, "").await
    }

    /// As [`Service::start_with`], with further configuration tables.
    ///
    /// # Panics
    /// When the bot cannot be built, or does not listen.
    pub async fn start_configured(tokens: &str, variables: &[(&str, &str)], tables: &str) -> Self {
        let ars = tokio::task::spawn_blocking(built)
            .await
            .expect("the bot is built");
        let data = TempDir::new().expect("a folder can be made");
        let file = |name: &str, text: &str| {
            let path = data.path().join(name);
            fs::write(&path, text).expect("the folder is writable");
            path
        };
        let log = fs::File::create(data.path().join("log")).expect("the folder is writable");
        let mut child = Command::new(ars)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "embedded"])
            .arg("--config")
            .arg(file("ars.toml", &format!("{OPERATOR_CONFIG}{tables}")))
            .arg("--rehearsal")
            .arg(file("script.toml", SCRIPT))
            .arg("--data-dir")
            .arg(data.path().join("data"))
            // The developer's keys and settings must not affect the service.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", data.path())
            .env("SERVICE_INGRESS_TOKENS", tokens)
            .env("DASHBOARD_TOKEN", DASHBOARD_TOKEN)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("the bot starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let first = BufReader::new(stdout)
            .lines()
            .next_line()
            .await
            .expect("the output is readable");
        let log = || fs::read_to_string(data.path().join("log")).unwrap_or_default();
        let first = first.unwrap_or_else(log);
        let listening: Value = serde_json::from_str(&first).expect(&first);
        let url = listening["listening"]
            .as_str()
            .expect("an address")
            .to_owned();
        Self {
            _child: child,
            _data: data,
            url,
        }
    }

    /// Returns a path's address.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Runs a request with an ingress token, and returns the run's id.
    ///
    /// # Panics
    /// When the request is rejected.
    pub async fn run(&self, token: &str) -> String {
        let request = reqwest::Client::new()
            .post(self.url("/ingress"))
            .bearer_auth(token);
        let response = request
            .json(&json!({ "text": "What is six times seven?" }))
            .send()
            .await;
        let answer: Value = response
            .expect("an answer comes")
            .json()
            .await
            .expect("the answer is JSON");
        answer["run"]["id"].as_str().expect("a run").to_owned()
    }
}

/// Builds the bot as `cargo xtask up` does, and returns the program.
/// The build is current in CI, and concurrent callers wait for cargo's lock.
fn built() -> PathBuf {
    let root = ars_workerd::repo_root();
    let mut build = ars_workerd::cargo("build");
    build
        .args(["--quiet", "--package", "ars", "--bin", "ars"])
        .current_dir(&root);
    ars_workerd::run_tool(build, "cargo", &|_| ()).expect("the bot builds");
    ars_workerd::target_dir(&root)
        .expect("cargo has a target directory")
        .join("debug/ars")
}
