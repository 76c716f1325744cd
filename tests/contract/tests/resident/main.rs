//! The resident Worker on workerd: bearers, check order, registry, states after a kill.
//!
//! The residents have no container here, so provisioning fails with a reason. Not here: the engine
//! (`shared/resident-engine`), which is tested against a simulated platform, and the daemon.

mod fleet;
mod routes;

use ars_tests_workerd::{Answer, Client, TOKEN};
use serde_json::{Value, json};

/// Posts with a role's bearer.
fn post(client: &Client, path: &str, role: &str, body: &Value) -> Answer {
    client.post(path, &format!("{TOKEN}-{role}"), body)
}

/// Sends GET with a role's bearer.
fn get(client: &Client, path: &str, role: &str) -> Answer {
    client.send(
        "GET",
        path,
        &[("authorization", &format!("Bearer {TOKEN}-{role}"))],
        b"",
    )
}

/// Returns a repository's onboarding.
fn onboarding(resource: &str) -> Value {
    json!({ "resource": resource, "commands": { "test": "true", "build": "true" }, "defaultRef": "main" })
}
