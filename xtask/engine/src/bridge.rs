//! Our own podman's bridge, which exists before the first container and after the last.
//!
//! Netavark creates a bridge with the first container and removes it with the last. The state
//! Worker listens on the bridge's address before any container runs, so the bridge is created here.
//! A cable stays plugged in, because netavark does not remove a bridge in use.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Name of the bridge.
pub(crate) const NAME: &str = "ars0";
/// The bridge's network.
pub(crate) const SUBNET: &str = "10.89.77.0/24";
/// The machine's own address in it.
pub(crate) const GATEWAY: &str = "10.89.77.1";
/// The network's prefix length, as `SUBNET` has it.
const PREFIX: &str = "24";
/// The two ends of the cable that keeps the bridge.
const CABLE: [&str; 2] = ["ars0-held", "ars0-holds"];

/// Creates the missing parts; needs root.
pub(crate) fn ensure() -> Result<()> {
    let address = format!("{GATEWAY}/{PREFIX}");
    let [plugged, loose] = CABLE;
    if !exists(plugged) {
        // Another process may have created it concurrently.
        let made = ip(&[
            "link", "add", plugged, "type", "veth", "peer", "name", loose,
        ]);
        made.or_else(|error| if exists(plugged) { Ok(()) } else { Err(error) })?;
    }
    if !exists(NAME) {
        let made = ip(&["link", "add", NAME, "type", "bridge"]);
        made.or_else(|error| if exists(NAME) { Ok(()) } else { Err(error) })?;
    }
    ip(&["link", "set", plugged, "master", NAME, "up"])?;
    ip(&["link", "set", loose, "up"])?;
    ip(&["address", "replace", &address, "dev", NAME])?;
    ip(&["link", "set", NAME, "up"])
}

fn exists(link: &str) -> bool {
    ip(&["link", "show", "dev", link]).is_ok()
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("ip")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "as root: ip {} ({})",
        arguments.join(" "),
        said.trim()
    );
    Ok(())
}
