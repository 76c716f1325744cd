//! Runs scenarios of official clients: Python's in a virtual env (Anthropic, OpenAI, GitHub, Slack),
//! and Slack's JavaScript framework on Node.
//!
//! Not here: the scenarios (`clients`) and their expected results (`tests/`).
#![expect(
    clippy::expect_used,
    reason = "a test tool that cannot go on fails the test"
)]
#![forbid(unsafe_code)]

mod node;

use ars_python::Scripts;
use serde_json::Value;

const SCRIPTS: Scripts = Scripts {
    name: "models",
    home: env!("CARGO_MANIFEST_DIR"),
};

/// An official Python client.
#[derive(Debug, Clone, Copy)]
pub enum Client {
    /// The Python package `anthropic`.
    Anthropic,
    /// The Python package `openai`.
    OpenAi,
    /// The Python package `PyGithub`.
    GitHub,
    /// The Python package `slack_sdk`.
    Slack,
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::GitHub => "github",
            Self::Slack => "slack",
        }
    }
}

/// Runs a client's scenario against `url` with `input`, and returns the report.
///
/// # Panics
/// When the client cannot be run, or fails other than the scenario expects.
pub async fn run(client: Client, scenario: &str, url: &str, input: &Value) -> Value {
    SCRIPTS
        .run(
            &format!("{}_client.py", client.name()),
            &[scenario, url],
            input,
        )
        .await
}

/// Runs an app of Slack's framework Bolt against `url`, and returns the report.
///
/// # Panics
/// When the app cannot be run, or fails.
pub async fn run_bolt_app(url: &str, input: &Value) -> Value {
    node::run("bolt_app.cjs", &[url], input).await
}

/// Returns the request body as parsed by the client's types, which drop unknown fields.
///
/// # Panics
/// When the body does not match the types.
pub async fn known_to(client: Client, body: &Value) -> Value {
    SCRIPTS.run("valid.py", &[client.name()], body).await
}
