//! The command sandbox: installs bubblewrap where that is possible, and shows the kind.
//!
//! The bot's health names the kind, and `ars doctor` what is missing.

use std::path::Path;
use std::process::{Command, Stdio};

use ars_engine::debian::{SANDBOX, ensure_packages};
use rustix::process::geteuid;
use serde_json::Value;

use super::http;
use crate::terminal::Step;

/// The kind that leaves nothing open.
const WHOLE: &str = "bubblewrap";

/// A file that every Debian has.
const DEBIAN: &str = "/etc/debian_version";

/// Installs bubblewrap as root on Debian, if it is missing. Without it a weaker sandbox is used.
pub fn install() {
    if !geteuid().is_root() || !Path::new(DEBIAN).exists() {
        return;
    }
    let step = Step::begin("sandbox");
    match ensure_packages(&[SANDBOX], &|line| step.update(line)) {
        Ok(installed) if installed.is_empty() => step.done("bubblewrap is there"),
        Ok(_) => step.done("bubblewrap is installed"),
        Err(error) => step.done(&format!("bubblewrap could not be installed: {error:#}")),
    }
}

/// Returns the lines about the sandbox for a bot on this machine.
pub fn lines(ars: &Path, bot: &str, config: &Path, data: &Path) -> Vec<String> {
    let health = http::get(&format!("{bot}/healthz")).map_or(Value::Null, |(_, health)| health);
    let finding = || {
        let mut doctor = Command::new(ars);
        doctor
            .args(["doctor", "--json", "--config"])
            .arg(config)
            .arg("--data-dir")
            .arg(data);
        // The start shows what it can: without an answer the kind is shown alone.
        let output = doctor
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        finding(&String::from_utf8_lossy(&output.stdout))
    };
    describe(&health, finding)
}

/// Returns the lines; `finding` is asked only where something is missing.
fn describe(health: &Value, finding: impl FnOnce() -> Option<Value>) -> Vec<String> {
    let kind = health["sandbox"].as_str();
    let mut lines = vec![match (kind, health["network"].as_str()) {
        (Some(kind), Some(network)) => format!("{kind}, network {network}"),
        _ => "missing: requests on repositories are refused".to_owned(),
    }];
    if kind != Some(WHOLE)
        && let Some(finding) = finding()
    {
        let texts = ["detail", "mend"]
            .into_iter()
            .filter_map(|field| finding[field].as_str());
        lines.extend(texts.map(str::to_owned));
    }
    lines
}

/// Returns the sandbox finding among those from `ars doctor`, each on a line.
fn finding(output: &str) -> Option<Value> {
    let mut findings = output
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    findings.find(|finding| finding["check"] == "sandbox")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn weaker_kind_names_what_is_missing() {
        let output = "{\"check\":\"git\",\"detail\":\"x\"}\n\
            {\"check\":\"sandbox\",\"detail\":\"skipped: bwrap is missing\",\"mend\":\"apt install bubblewrap\"}\n";
        let health = json!({ "sandbox": "landlock", "network": "proxy" });
        assert_eq!(
            describe(&health, || finding(output)),
            [
                "landlock, network proxy",
                "skipped: bwrap is missing",
                "apt install bubblewrap"
            ]
        );
        let missing = describe(&json!({}), || finding(output));
        assert_eq!(
            (missing[0].as_str(), missing.len()),
            ("missing: requests on repositories are refused", 3)
        );
        assert_eq!(describe(&health, || None), ["landlock, network proxy"]);
    }

    #[test]
    fn whole_sandbox_is_one_line() {
        let health = json!({ "sandbox": "bubblewrap", "network": "proxy" });
        assert_eq!(
            describe(&health, || panic!("nothing is missing")),
            ["bubblewrap, network proxy"]
        );
    }
}
