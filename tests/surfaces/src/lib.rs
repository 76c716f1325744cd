//! Tools from the interfaces' own communities, and the bot as a process. For MCP these are the
//! official Python client, the conformance suite and the inspector, for the command routes
//! schemathesis.
//!
//! Not here: the scripts (`mcp/clients`, `openapi/clients`) and the expected results (`tests/`,
//! `mcp/expected`).
#![expect(
    clippy::expect_used,
    reason = "a test tool that cannot go on fails the test"
)]
#![forbid(unsafe_code)]

mod node;
mod proxy;
mod service;

use ars_python::Scripts;
pub use node::{Ended, Tool};
pub use proxy::with_bearer;
use serde_json::Value;
pub use service::{DASHBOARD_TOKEN, Service};

const MCP: Scripts = Scripts {
    name: "mcp",
    home: concat!(env!("CARGO_MANIFEST_DIR"), "/mcp"),
};
const OPENAPI: Scripts = Scripts {
    name: "openapi",
    home: concat!(env!("CARGO_MANIFEST_DIR"), "/openapi"),
};

/// Runs the official MCP client's steps on a single connection, and returns a report for each.
///
/// `mode` is `legacy` for the 2025 handshake, or `auto` for a client that first tries the newest
/// version.
///
/// # Panics
/// When the client cannot be run, or fails outside a step.
pub async fn run_mcp_client(mode: &str, url: &str, token: &str, steps: &Value) -> Value {
    MCP.run("python_client.py", &[mode, url, token], steps)
        .await
}

/// Runs schemathesis against a service's `OpenAPI` description, and returns the report.
///
/// `plan` is `{examples, knownRun, knownRepository}`; the last two are a run in the service and a
/// repository on the service's code host.
///
/// # Panics
/// When schemathesis cannot be run, or ends without a report.
pub async fn run_schemathesis(url: &str, token: &str, plan: &Value) -> Value {
    OPENAPI
        .run("run_schemathesis.py", &[url, token], plan)
        .await
}
