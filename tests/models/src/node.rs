//! Runs scripts of official JavaScript clients, in packages installed once per lock file.

use std::{path::Path, process::Stdio};

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

/// Runs a script with `input` as JSON on standard input, and returns the JSON that it prints.
///
/// # Panics
/// When the packages cannot be installed, or the script fails.
pub(crate) async fn run(script: &str, arguments: &[&str], input: &Value) -> Value {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = tokio::task::spawn_blocking(|| {
        let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/slack"));
        ars_workerd::cached_packages("slack", manifest)
    });
    let packages = packages.await.expect("the installation ends");
    let mut child = tokio::process::Command::new("node")
        .arg(here.join("clients").join(script))
        .args(arguments)
        // The developer's tokens and proxies must not affect the client.
        .env_remove("SLACK_BOT_TOKEN")
        .env_remove("SLACK_APP_TOKEN")
        .env("NODE_PATH", packages.expect("npm installs the packages"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input = input.to_string();
    stdin.write_all(input.as_bytes()).await.expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().await.expect("the script ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} failed: {errors}");
    serde_json::from_slice(&output.stdout).expect("the script reports JSON")
}
