//! Final output: the answer on standard output, a work summary on standard error.

use std::{ffi::OsString, path::Path, process::ExitCode};

use ars_agent::money::dollars;
use ars_bot_adapters::workspace::GitWorkspaces;
use ars_bot_ports::{Placement, WorkspaceProvider, WorkspaceRequest};
use ars_types::{ThreadKey, TreePlace};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Format, Setup},
    commands::Failure,
    environment::{self, name},
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
        return Ok(if answered {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
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
    outcome
        .cost
        .map(|microusd| format!("cost: {}", dollars(microusd)))
}

/// Prints the run's cost, its working tree's place and the size of its changes, as far as they exist.
pub async fn work(
    local: &GitWorkspaces,
    trees: &dyn WorkspaceProvider,
    thread: &ThreadKey,
    setup: &Setup,
    outcome: &Outcome,
) {
    if let Some(cost) = cost(outcome) {
        tell(&cost);
    }
    let has_tree = trees
        .repository_of(thread)
        .await
        .is_ok_and(|own| own.is_some());
    if !has_tree || outcome.run.is_none() {
        return;
    }
    let Ok(workspace) = trees
        .open(
            WorkspaceRequest::for_thread(thread),
            &CancellationToken::new(),
        )
        .await
    else {
        return;
    };
    let (place, diff_command) = match workspace.placement() {
        Placement {
            tree: TreePlace::Resident,
            note,
            ..
        } => (note.unwrap_or_default(), None),
        Placement {
            tree: TreePlace::Local,
            ..
        } => (
            local.tree_of(thread).display().to_string(),
            Some(diff_command(thread, setup, environment::raw)),
        ),
    };
    tell(&format!("working tree: {place}"));
    let name = thread
        .as_str()
        .split_once(':')
        .map_or(thread.as_str(), |(_, name)| name);
    tell(&format!(
        "thread: {name} (go on with --thread {})",
        quoted(name)
    ));
    let Ok(diff) = workspace.diff().await else {
        return;
    };
    let changes = Changes::from_diff(&diff);
    if changes == Changes::default() {
        tell("nothing changed");
        return;
    }
    tell(&changes.to_string());
    if let Some(command) = diff_command {
        tell(&format!(
            "see the changes with `{command}`, and apply them in your repository with `{command} | git apply`"
        ));
    }
}

/// Returns the command line of the diff, in any folder of a shell with this environment.
fn diff_command(
    thread: &ThreadKey,
    setup: &Setup,
    variable: impl Fn(&str) -> Option<OsString>,
) -> String {
    let mut command = format!("ars diff {}", quoted(thread.as_str()));
    for (option, value, variable_name) in [
        ("--data-dir", &setup.data.dir, name::DATA_DIR),
        ("--config", &setup.config, name::CONFIG),
    ] {
        let Some(path) = value
            .as_ref()
            .filter(|path| variable(variable_name).as_deref() != Some(path.as_os_str()))
        else {
            continue;
        };
        command.push_str(&format!(" {option} {}", quoted(&from_anywhere(path))));
    }
    command
}

/// Returns a path as absolute, and the address of a document unchanged.
fn from_anywhere(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains("://") {
        return text;
    }
    std::path::absolute(path).map_or(text, |path| path.display().to_string())
}

/// Returns a word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":._-/".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        setup: Setup,
    }

    #[test]
    fn diff_command_repeats_what_the_environment_lacks() {
        use clap::Parser as _;
        let line = [
            "ask",
            "--data-dir",
            "/srv/my data",
            "--config",
            "state://bot",
        ];
        let Line { mut setup } = Line::try_parse_from(line).unwrap();
        let thread = ThreadKey::from_text("cli:it's").unwrap();
        let command = |setup: &Setup, set: &[&str]| {
            let set: Vec<OsString> = set.iter().map(OsString::from).collect();
            diff_command(&thread, setup, |name| {
                set.first().filter(|_| name == name::DATA_DIR).cloned()
            })
        };
        let expected = r"ars diff 'cli:it'\''s' --data-dir '/srv/my data' --config state://bot";
        assert_eq!(command(&setup, &[]), expected);
        assert_eq!(
            command(&setup, &["/srv/my data"]),
            r"ars diff 'cli:it'\''s' --config state://bot"
        );
        setup.data.dir = Some("here".into());
        let folder = std::env::current_dir().unwrap().join("here");
        assert!(
            command(&setup, &[]).contains(&quoted(folder.to_str().unwrap())),
            "{}",
            command(&setup, &[])
        );
    }

    #[test]
    fn unknown_cost_is_not_reported_as_zero() {
        let told = |cost| {
            super::cost(&Outcome {
                cost,
                ..Outcome::default()
            })
        };
        assert_eq!(told(Some(1_250_000)).as_deref(), Some("cost: $1.25"));
        assert_eq!(told(Some(0)).as_deref(), Some("cost: $0.00"));
        assert_eq!(told(None), None);
    }
}
