//! Installs missing Debian packages.
//!
//! Their versions are the machine release's, not pinned. Not here: which part needs which package.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use ars_workerd::Progress;

/// Lets apt wait for another installation and retry failed downloads.
const APT_OPTIONS: [&str; 4] = ["-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=5"];
/// Before the lists are asked for again.
const PAUSE: Duration = Duration::from_secs(10);

/// A command that shows whether something is there, and the package that brings it.
pub type Need<'a> = (&'a [&'a str], &'a str);

/// Packages for building the image: a C compiler for static binaries, and certificates.
pub const IMAGE: [Need<'_>; 3] = [
    (&["musl-gcc", "--version"], "musl-tools"),
    (&["cmake", "--version"], "cmake"),
    (
        &["test", "-s", "/etc/ssl/certs/ca-certificates.crt"],
        "ca-certificates",
    ),
];
/// Packages for a base image: how Debian sets up a new system.
pub const BASE: [Need<'_>; 1] = [(&["debootstrap", "--version"], "debootstrap")];
/// Packages for running containers.
pub const PODMAN: [Need<'_>; 6] = [
    (&["podman", "--version"], "podman"),
    (&["runc", "--version"], "runc"),
    (&["test", "-x", "/usr/lib/podman/netavark"], "netavark"),
    (&["iptables", "--version"], "iptables"),
    (&["ip", "-V"], "iproute2"),
    (&["test", "-x", "/usr/bin/newuidmap"], "uidmap"),
];

/// The package that confines agents' commands.
pub const SANDBOX: Need<'_> = (&["bwrap", "--version"], "bubblewrap");

/// Installs the missing packages, which needs root, and names them.
pub fn ensure_packages(needs: &[Need<'_>], progress: Progress<'_>) -> Result<Vec<String>> {
    let missing: Vec<&str> = needs
        .iter()
        .filter(|(probe, _)| !works(probe))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    progress(&missing.join(" "));
    // Whatever else installs at the moment holds the lists, for which it does not wait.
    let update = || apt(&["update", "-qq"]);
    update()
        .or_else(|_| again(update))
        .or_else(|_| again(update))?;
    apt(&[
        &["install", "-y", "-qq", "--no-install-recommends"],
        missing.as_slice(),
    ]
    .concat())?;
    Ok(missing.into_iter().map(str::to_owned).collect())
}

fn again(update: impl Fn() -> Result<()>) -> Result<()> {
    thread::sleep(PAUSE);
    update()
}

fn works(probe: &[&str]) -> bool {
    let mut command = Command::new(probe[0]);
    command
        .args(&probe[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn apt(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command
        .args(APT_OPTIONS)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    let output = command.output().context("apt-get")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    ensure!(
        output.status.success(),
        "as root: apt-get {} ({last})",
        arguments.join(" ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_installed_when_nothing_is_missing() {
        let asked = |line: &str| panic!("{line}");
        assert!(
            ensure_packages(&[(&["true"], "coreutils")], &asked)
                .unwrap()
                .is_empty()
        );
        assert!(!works(&["false"]) && !works(&["/no/such/program"]));
    }
}
