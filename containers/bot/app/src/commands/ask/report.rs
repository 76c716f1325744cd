//! The output at the end: the answer on standard output, a summary of the work on standard error.

use std::process::ExitCode;

use ars_agent::money::dollars;
use ars_bot_adapters::workspace::GitWorkspaces;
use ars_bot_ports::{Placement, WorkspaceProvider, WorkspaceRequest};
use ars_types::{ThreadKey, TreePlace};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    args::Format,
    commands::Failure,
    error::is_success,
    terminal::{Changes, Outcome, print, tell},
};

/// Prints the answer, or fails with the reason for its absence.
/// In the JSON formats, both are one object.
pub fn report(outcome: &Outcome, format: Format) -> Result<ExitCode, Failure> {
    let Some((id, status)) = &outcome.run else {
        return without_run(outcome, format);
    };
    let answered = status.is_some_and(is_success);
    if format != Format::Text {
        let run = json!({ "id": id, "status": status });
        let result = match format {
            Format::JsonLines => json!({ "type": "result", "reply": outcome.reply, "run": run }),
            Format::Json | Format::Text => json!({ "reply": outcome.reply, "run": run }),
        };
        print(&format!("{result}\n"))?;
        return Ok(if answered { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if !answered {
        return Err(Failure::Failed(outcome.reply.clone()));
    }
    if !outcome.reply.is_empty() {
        print(&format!("{}\n", outcome.reply))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the answer of a command that left no run. Any other request without a run was rejected.
fn without_run(outcome: &Outcome, format: Format) -> Result<ExitCode, Failure> {
    if outcome.command != Some(true) {
        return Err(Failure::Refused(outcome.reply.clone()));
    }
    let reply = match format {
        Format::Text => outcome.reply.clone(),
        Format::Json => json!({ "reply": outcome.reply }).to_string(),
        Format::JsonLines => json!({ "type": "result", "reply": outcome.reply }).to_string(),
    };
    print(&format!("{reply}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the run's cost, if known.
fn cost(outcome: &Outcome) -> Option<String> {
    outcome.cost.map(|microusd| format!("cost: {}", dollars(microusd)))
}

/// Prints the run's cost, its working tree's place and the size of its changes, as far as they exist.
pub async fn work(
    local: &GitWorkspaces,
    trees: &dyn WorkspaceProvider,
    thread: &ThreadKey,
    outcome: &Outcome,
) {
    if let Some(cost) = cost(outcome) {
        tell(&cost);
    }
    let has_tree = trees.repository_of(thread).await.is_ok_and(|own| own.is_some());
    if !has_tree || outcome.run.is_none() {
        return;
    }
    let Ok(workspace) = trees.open(WorkspaceRequest::of(thread), &CancellationToken::new()).await else {
        return;
    };
    let place = match workspace.placement() {
        Placement { tree: TreePlace::Resident, note, .. } => note.unwrap_or_default(),
        Placement { tree: TreePlace::Local, .. } => local.tree_of(thread).display().to_string(),
    };
    tell(&format!("working tree: {place}"));
    let name = thread.as_str().split_once(':').map_or(thread.as_str(), |(_, name)| name);
    tell(&format!("thread: {name} (go on with --thread {name})"));
    let Ok(diff) = workspace.diff().await else { return };
    tell(&match Changes::of(&diff) {
        changes if changes == Changes::default() => "nothing changed".to_owned(),
        changes => format!(
            "{changes}\nsee the changes with `ars diff {thread}`, and apply them in your repository with `ars diff \
             {thread} | git apply`"
        ),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_cost_is_not_reported_as_zero() {
        let told = |cost| super::cost(&Outcome { cost, ..Outcome::default() });
        assert_eq!(told(Some(1_250_000)).as_deref(), Some("cost: $1.25"));
        assert_eq!(told(Some(0)).as_deref(), Some("cost: $0.00"));
        assert_eq!(told(None), None);
    }
}
