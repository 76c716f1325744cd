//! Runs scenarios of the protocol's official Python client in a virtual environment.
//!
//! Not here: the scenarios (`clients/*.py`) and their expected results (`tests/`).
#![forbid(unsafe_code)]

use ars_python::Scripts;
use serde_json::Value;

const SCRIPTS: Scripts = Scripts { name: "mcp", home: env!("CARGO_MANIFEST_DIR") };

/// Runs steps of the official client against `url` in one connection, and returns the report of each step.
///
/// `mode` is `legacy` for the handshake of 2025, or `auto` for a client that first tries the newest version.
///
/// # Panics
/// When the client cannot be run, or fails outside a step.
pub async fn run(mode: &str, url: &str, token: &str, steps: &Value) -> Value {
    SCRIPTS.run("python_client.py", &[mode, url, token], steps).await
}
