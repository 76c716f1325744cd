//! What the tests need of Debian: a browser, and Python's own way to make environments.
//!
//! Asked for only when missing. apt's packages are those of the machine's release, not pinned.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::terminal::Step;

/// A thing the tests start, how to see whether it is there, and the package that brings it.
const NEEDS: [(&[&str], &str); 3] = [
    (&["/usr/bin/chromium", "--version"], "chromium"),
    (&["/usr/bin/chromedriver", "--version"], "chromium-driver"),
    (&["python3", "-c", "import ensurepip, venv"], "python3-venv"),
];

/// Installs what is missing.
pub fn ensure() -> Result<()> {
    let missing: Vec<&str> =
        NEEDS.iter().filter(|(probe, _)| !works(probe)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let step = Step::begin("Debian packages");
    step.tell(&missing.join(" "));
    apt(&["update", "-qq"]).and_then(|()| {
        let arguments = [&["install", "-y", "-qq", "--no-install-recommends"], missing.as_slice()].concat();
        apt(&arguments)
    })?;
    step.done(&missing.join(" "));
    Ok(())
}

fn works(probe: &[&str]) -> bool {
    let mut command = Command::new(probe[0]);
    command.args(&probe[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn apt(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    let output = command.output().context("apt-get")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    ensure!(output.status.success(), "as root: apt-get {} ({last})", arguments.join(" "));
    Ok(())
}
