//! The official clients and tools of the Model Context Protocol: the Python client in a virtual environment, and the
//! conformance suite and the inspector as npm packages.
//!
//! Not here: the scenarios (`clients/*.py`) and their expected results (`tests/`).
#![expect(clippy::expect_used, reason = "a test tool that cannot go on fails the test")]
#![forbid(unsafe_code)]

mod node;
mod proxy;

use ars_python::Scripts;
pub use node::{Ended, Tool};
pub use proxy::with_bearer;
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
