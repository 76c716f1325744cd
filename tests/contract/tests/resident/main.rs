//! The resident Worker on workerd: bearers, order of checks, registry, states after a kill.
//!
//! Its residents have no container here, so provisioning fails with a reason. Not here: the engine
//! (`shared/resident-engine`), which is tested against a simulated platform, and the daemon.

mod fleet;
mod routes;

use ars_tests_workerd::{Answer, Client, TOKEN};
use serde_json::{Value, json};

/// Posts with one of the three bearers.
fn post(client: &Client, path: &str, role: &str, body: &Value) -> Answer {
    client.post(path, &format!("{TOKEN}-{role}"), body)
}

/// Sends GET with one of the three bearers.
fn get(client: &Client, path: &str, role: &str) -> Answer {
    client.send(
        "GET",
        path,
        &[("authorization", &format!("Bearer {TOKEN}-{role}"))],
        b"",
    )
}

/// Returns an onboarding of a repository.
fn onboarding(resource: &str) -> Value {
    json!({ "resource": resource, "commands": { "test": "true", "build": "true" }, "defaultRef": "main" })
}
