//! Runs an invocation from words to exit code.

use std::process::ExitCode;

use ars_commands::Surface;
use serde_json::Value;

use super::{Invocation, Server, local, offline, output::Output};
use crate::{commands::Failure, terminal};

/// The command that reads saved files. It needs neither stores nor a configuration.
const OFFLINE: &str = "friction.analyze";

/// Runs the command and prints the output.
pub async fn run(invocation: Invocation) -> Result<ExitCode, Failure> {
    let json = invocation.json;
    invocation.check()?;
    let is_offline = invocation.definition.id == OFFLINE;
    let output = match &invocation.server {
        _ if is_offline => offline::invoke(invocation).await?,
        Some(url) if invocation.definition.surfaces.contain(Surface::Api) => {
            Server::at(url)?.invoke(&invocation).await?
        }
        Some(_) | None => local::invoke(invocation).await?,
    };
    let empty = if is_offline {
        without_events(&output)
    } else {
        None
    };
    match empty {
        Some(reason) if !json => return Err(Failure::Failed(reason)),
        _ => {}
    }
    let text = if json { &output.json } else { &output.text };
    terminal::print(&format!("{}\n", text.trim_end_matches('\n')))?;
    Ok(if empty.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns why an analysis has no events, which is a command line failure.
fn without_events(output: &Output) -> Option<String> {
    let analysis: Value = serde_json::from_str(&output.json).ok()?;
    let hint = analysis["hint"].as_str()?;
    Some(format!(
        "no events; lines skipped: {}. Hint: {hint}",
        analysis["skipped"]
    ))
}
