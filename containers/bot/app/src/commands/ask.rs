//! `ars ask`: one request, here and now, on the embedded store.

use std::{
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use ars_auth::{Actor, TokenMap};
use ars_bot_adapters::workspace::GitWorkspaces;
use ars_bot_cli::{CliChannel, Outcome, Steps, Style};
use ars_bot_core::{
    Core, agents,
    message::{Choices, IncomingMessage},
    ports::{Clock as _, WorkspaceProvider as _, WorkspaceRequest},
    registry::Frame,
};
use ars_events::ActorKind;
use ars_types::{RunId, RunStatus, StopMode, ThreadKey, Visibility};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::{
    args::{Ask, Store},
    clock::SystemClock,
    compose, environment, logging,
    signals::Signals,
};

/// The agent of a request that names a repository and no agent.
const REPOSITORY_AGENT: &str = "coding";
/// How long the record may take after the answer: the history writer's attempts, waits and time-outs.
const RECORD_LIMIT: Duration = Duration::from_secs(60);
/// A shell says this of a process that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Runs the request.
pub async fn run(args: Ask) -> Result<ExitCode, Failure> {
    let text = request_text(args.text)?;
    let plan = compose::plan(args.setup, &TokenMap::default())?;
    logging::start(plan.redactor.clone(), logging::Level::Errors);
    if !plan.has_model() {
        return Err(Failure::InvalidInput(
            "no model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --config or --rehearsal".into(),
        ));
    }
    let mut signals = Signals::listen().context("signals")?;
    let (core, workspaces) = plan.build(Some(Store::Embedded), None)?;
    let thread = args.thread.unwrap_or_else(|| SystemClock.now().to_string());
    let thread = ThreadKey::new("cli", "local", &thread);
    let choices = Choices {
        agent: agent(args.agent, args.repo.is_some())?,
        model: None,
        effort: args.effort,
        repository: args.repo.map(|repo| absolute(&repo)),
        git_ref: args.git_ref,
    };
    let choices = with_own_repository(choices, &text, &core, &workspaces, &thread).await;
    let message = message(text, thread.clone(), choices);
    let (channel, started) = CliChannel::new();
    let interrupted = {
        let watcher = (!args.json).then(|| tokio::spawn(show_steps(core.clone(), started)));
        let dispatch = core.dispatch(message, &channel);
        tokio::pin!(dispatch);
        let interrupted = tokio::select! {
            () = &mut dispatch => false,
            _ = signals.next() => true,
        };
        if interrupted {
            core.registry().stop_all(StopMode::Hard, &ars_events::Actor::new(ActorKind::Cli, "local"));
            dispatch.await;
        }
        channel.close();
        if let Some(watcher) = watcher {
            // The steps are a courtesy; a watcher that broke takes nothing from the answer.
            drop(watcher.await);
        }
        interrupted
    };
    let recorded = core.drain(RECORD_LIMIT).await && core.load().lost_records == 0;
    let outcome = channel.outcome();
    if outcome.run.is_none() {
        return Err(Failure::Refused(outcome.reply));
    }
    report(&outcome, args.json)?;
    if !args.json {
        show_work(&workspaces, &thread).await;
    }
    if !recorded {
        eprintln!("error (unavailable): the run's record could not be written");
    }
    let completed = matches!(outcome.run, Some((_, Some(RunStatus::Completed | RunStatus::StoppedSoft))));
    Ok(match (interrupted, completed && recorded) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

fn request_text(text: String) -> Result<String, Failure> {
    let text = if text == "-" {
        let mut piped = String::new();
        std::io::stdin().read_to_string(&mut piped).context("standard input")?;
        piped
    } else {
        text
    };
    if text.trim().is_empty() {
        return Err(Failure::InvalidInput("the request must not be blank".into()));
    }
    Ok(text)
}

fn agent(named: Option<String>, has_repository: bool) -> Result<Option<String>, Failure> {
    match named {
        Some(name) if agents::find(&name).is_none() => {
            Err(Failure::InvalidInput(format!("there is no such agent. The agents are: {}", agents::names())))
        }
        Some(name) => Ok(Some(name)),
        None => Ok(has_repository.then(|| REPOSITORY_AGENT.to_owned())),
    }
}

/// A path is made absolute, because git runs elsewhere; URLs and configured names stay.
fn absolute(repo: &str) -> String {
    let path = Path::new(repo);
    match path.exists().then(|| path.canonicalize()) {
        Some(Ok(found)) => found.to_string_lossy().into_owned(),
        _ => repo.to_owned(),
    }
}

/// A coding request that names no repository works on that of the current directory.
async fn with_own_repository(
    choices: Choices,
    text: &str,
    core: &Core,
    workspaces: &GitWorkspaces,
    thread: &ThreadKey,
) -> Choices {
    let codes =
        choices.agent.as_deref().or(core.settings().default_agent.as_deref()) == Some(REPOSITORY_AGENT);
    let named = choices.repository.is_some()
        || core.settings().default_repository.is_some()
        || text.contains("repo:");
    if !codes || named || workspaces.repository_of(thread).await.is_ok_and(|own| own.is_some()) {
        return choices;
    }
    match enclosing_repository() {
        Some(root) => {
            eprintln!("working on a copy of {}", root.display());
            Choices { repository: Some(root.to_string_lossy().into_owned()), ..choices }
        }
        None => choices,
    }
}

fn enclosing_repository() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf)
}

fn message(text: String, thread_key: ThreadKey, choices: Choices) -> IncomingMessage {
    IncomingMessage {
        actor: Actor::cli_local(),
        channel_id: "cli:local".into(),
        thread_key,
        visibility: Visibility::Private,
        text,
        received_at: SystemClock.now(),
        choices,
        source: None,
    }
}

/// Prints steps to standard error while the run goes.
async fn show_steps(core: Core, started: oneshot::Receiver<RunId>) {
    // No run: the request was refused, and the refusal is shown instead.
    let Ok(id) = started.await else { return };
    let style = Style::choose(std::io::stderr().is_terminal(), environment::raw("NO_COLOR").is_some());
    let steps = Steps::new(style);
    let Some(run) = core.registry().get(&id) else { return };
    let Some(mut viewer) = core.registry().subscribe(&id, &run.token, 0) else { return };
    while let Some(frames) = viewer.next().await {
        for frame in frames {
            if let Frame::Event { json, .. } = frame
                && let Some(lines) = serde_json::from_str(&json).ok().and_then(|event| steps.lines(&event))
            {
                eprintln!("{lines}");
            }
        }
    }
}

fn report(outcome: &Outcome, json: bool) -> anyhow::Result<()> {
    if !json {
        if !outcome.reply.is_empty() {
            println!("{}", outcome.reply);
        }
        return Ok(());
    }
    let run = outcome.run.as_ref().map(|(id, status)| serde_json::json!({ "id": id, "status": status }));
    println!("{}", serde_json::to_string(&serde_json::json!({ "reply": outcome.reply, "run": run }))?);
    Ok(())
}

/// Where the work is and how much of it, when the thread has a working tree.
async fn show_work(workspaces: &GitWorkspaces, thread: &ThreadKey) {
    if !workspaces.repository_of(thread).await.is_ok_and(|own| own.is_some()) {
        return;
    }
    let request = WorkspaceRequest { thread, repository: None, git_ref: None };
    let Ok(workspace) = workspaces.open(request, &CancellationToken::new()).await else { return };
    let Ok(diff) = workspace.diff().await else { return };
    let count = |prefix: &str, header: &str| {
        diff.lines().filter(|line| line.starts_with(prefix) && !line.starts_with(header)).count()
    };
    eprintln!("{} (+{} -{})", workspaces.tree_of(thread).display(), count("+", "+++"), count("-", "---"));
}
