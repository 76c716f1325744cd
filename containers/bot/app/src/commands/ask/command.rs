//! Runs the command from arguments to exit code.

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;
use ars_auth::TokenMap;
use ars_bot_core::{Core, commands::catalogue};
use ars_bot_ports::IncomingMessage;
use ars_events::{Actor, ActorKind};
use ars_types::StopMode;

use super::{
    super::{Failure, interrupted},
    remote,
    report::{self, report},
    request::{self, Request},
    thread_lock::ThreadLock,
    watch,
};
use crate::{
    args::{Ask, Format},
    compose::{self, Built},
    environment::{self, name},
    logging,
    signals::Signals,
    terminal::{CliChannel, tell},
};

/// Timeout for the record after the answer: the history writer's attempts, waits and timeouts.
const RECORD_LIMIT: Duration = Duration::from_secs(60);

/// Runs the request on the stores or a service.
pub async fn run(args: Ask) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen().context("signals")?;
    let text = tokio::select! {
        text = request::text(args.text.clone()) => text?,
        _ = signals.next() => return Ok(interrupted()),
    };
    if let Some(url) = &args.server {
        return remote::run(&args, &text, url, &mut signals).await;
    }
    let state_url = environment::variable(name::STATE_WORKER_URL);
    let plan = compose::plan(
        args.setup.clone(),
        &TokenMap::parse(None),
        state_url.as_deref(),
    )
    .await?;
    let redactor = Arc::clone(&plan.redactor);
    logging::start(Arc::clone(&redactor), logging::Level::Errors);
    let request = Request::read(&args, &text, &plan.settings)?;
    if !plan.has_model() && catalogue().recognize(&text).is_none() {
        let mend = plan.model_hint.as_deref().unwrap_or_default();
        return Err(Failure::InvalidInput(format!(
            "no model is configured: {mend}"
        )));
    }
    let _locked = plan.lock_tree_folder()?;
    let Built {
        core,
        workspaces,
        trees,
        ..
    } = plan.build(None, state_url).await?;
    let message = request.into_message(text, &core, &*trees).await?;
    let thread = message.thread_key.clone();
    // A generated thread name is unique, so it needs no lock.
    let _held = args
        .thread
        .is_some()
        .then(|| ThreadLock::take(&workspaces, &thread))
        .transpose()?;

    let format = args.format();
    let on_status: fn(&str) = if format == Format::Text { tell } else { |_| {} };
    let (channel, started) = CliChannel::new(redactor, on_status);
    let channel = Arc::new(channel);
    let watcher =
        (format != Format::Json).then(|| tokio::spawn(watch::show(core.clone(), started, format)));
    let ended = dispatch(&core, message, &channel, &mut signals).await;
    channel.close();
    if ended == Ended::AtOnce {
        return Ok(interrupted());
    }
    if let Some(watcher) = watcher {
        // If displaying the steps fails, the answer must not be lost.
        drop(watcher.await);
    }
    let recorded = tokio::select! {
        drained = core.drain(RECORD_LIMIT) => drained && core.load().lost_records == 0,
        _ = signals.next() => return Ok(interrupted()),
    };
    let outcome = channel.outcome();
    if format == Format::Text {
        report::work(&workspaces, &*trees, &thread, &args.setup, &outcome).await;
    }
    if !recorded {
        tell("error (unavailable): the run's record could not be written");
    }
    if ended == Ended::Stopped {
        if format != Format::Text {
            report(&outcome, format)?;
        }
        tell("stopped");
        return Ok(interrupted());
    }
    let code = report(&outcome, format)?;
    Ok(if recorded { code } else { ExitCode::FAILURE })
}

/// How the request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Ended without a signal.
    ByItself,
    /// Ctrl-C stopped the run.
    Stopped,
    /// Ctrl-C came before the run began, or a second time.
    AtOnce,
}

/// Drives the request in this task, so that dropping it cancels everything.
async fn dispatch(
    core: &Core,
    message: IncomingMessage,
    channel: &Arc<CliChannel>,
    signals: &mut Signals,
) -> Ended {
    let io: Arc<CliChannel> = Arc::clone(channel);
    let dispatch = core.dispatch(message, io);
    tokio::pin!(dispatch);
    tokio::select! {
        () = &mut dispatch => return Ended::ByItself,
        _ = signals.next() => {}
    }
    if channel.outcome().run.is_none() {
        return Ended::AtOnce;
    }
    core.registry()
        .stop_all(StopMode::Hard, &Actor::new(ActorKind::Cli, "signal"));
    tokio::select! {
        () = &mut dispatch => Ended::Stopped,
        _ = signals.next() => Ended::AtOnce,
    }
}
