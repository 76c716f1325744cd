//! Tries the way from a command to the proxy.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    environment::{FOLDERS, TEMPORARY},
    process,
    programs::Programs,
};
use crate::{
    egress::{EgressSettings, Gate, GateKind, RunEgress, Scope},
    logins::Logins,
};

/// Timeout for the trial.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes kept from the command's output.
const OUTPUT_MAX: usize = 4 << 10;
/// A name that has no address (RFC 2606).
const HOST: &str = "trial.invalid:443";
/// The proxy's answer to it.
const EXPECTED: &str = "HTTP/1.1 403 Forbidden";

/// Runs a command that asks the proxy for a host that is not allowed, and expects the refusal.
pub(super) async fn try_proxy(programs: &Programs, kind: GateKind) -> Result<(), String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("a command does not reach its proxy: {error}");
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let place = folder
        .path()
        .canonicalize()
        .map_err(|error| failed(&error))?;
    for name in FOLDERS {
        std::fs::create_dir(place.join(name)).map_err(|error| failed(&error))?;
    }
    let run = RunEgress::new(
        &EgressSettings::default(),
        Scope::default(),
        &Logins::default(),
        &programs.upstream,
    );
    let gate = Gate::open(&run, kind).map_err(|error| failed(&error))?;
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && printf %s \"$0\" >&3 && IFS= read -r -t 10 line <&3 && echo \"$line\"",
        gate.port()
    );
    let request = format!(
        "CONNECT {HOST} HTTP/1.1\r\nHost: {HOST}\r\n{}\r\n",
        gate.authorization()
    );
    let mut program = programs.of_agent("bash", &place, Some(&gate));
    program
        .command
        .arg("-c")
        .arg(script)
        .arg(request)
        .current_dir(place.join(TEMPORARY));
    let mut output = Capture::both_ends(OUTPUT_MAX);
    let never = CancellationToken::new();
    process::run(program, None, TRIAL_TIMEOUT, &mut output, None, &never)
        .await
        .map_err(|error| failed(&error))?;
    let (output, _) = output.into_text();
    match output.trim() {
        EXPECTED => Ok(()),
        "" => Err(failed(&"no answer")),
        other => Err(failed(&other.lines().next().unwrap_or_default())),
    }
}
