//! Runs scenarios of official Python clients (Anthropic, OpenAI, GitHub) in a virtual env.
//!
//! Not here: the scenarios (`clients/*.py`) and their expected results (`tests/`).
#![forbid(unsafe_code)]

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
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::GitHub => "github",
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

/// Returns the request body as parsed by the client's types, which drop unknown fields.
///
/// # Panics
/// When the body does not match the types.
pub async fn known_to(client: Client, body: &Value) -> Value {
    SCRIPTS.run("valid.py", &[client.name()], body).await
}
