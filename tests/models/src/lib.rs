//! Runs scenarios of the vendors' official Python clients in a virtual environment.
//!
//! Not here: the scenarios (`clients/*.py`) and their expected results (`tests/`).
#![expect(clippy::expect_used, reason = "a test tool that cannot go on fails the test")]
#![forbid(unsafe_code)]

mod environment;

use std::{path::Path, process::Stdio};

use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command};

/// An official client.
#[derive(Debug, Clone, Copy)]
pub enum Client {
    /// `anthropic`.
    Anthropic,
    /// `openai`.
    OpenAi,
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// Runs a scenario of a client against `url` with `input`, and returns its report.
///
/// # Panics
/// When the client cannot be run, or fails other than the scenario expects.
pub async fn run(client: Client, scenario: &str, url: &str, input: &Value) -> Value {
    python(&format!("{}_client.py", client.name()), &[scenario, url], input).await
}

/// Returns the request body as parsed by the client's types, which drop unknown fields.
///
/// # Panics
/// When the body does not match the types.
pub async fn known_to(client: Client, body: &Value) -> Value {
    python("valid.py", &[client.name()], body).await
}

async fn python(script: &str, arguments: &[&str], input: &Value) -> Value {
    let python = tokio::task::spawn_blocking(environment::python).await.expect("the environment is made");
    let mut child = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(script))
        .args(arguments)
        // Keys and proxies of the developer must not affect the clients.
        .env_clear()
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(input.to_string().as_bytes()).await.expect("the client reads its input");
    drop(stdin);
    let output = child.wait_with_output().await.expect("the client ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} {arguments:?} failed: {errors}");
    serde_json::from_slice(&output.stdout).expect("the client reports JSON")
}
