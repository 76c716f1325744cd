//! The server's shutdown: SIGTERM, SIGINT or a failed service begin the drain, which the probe
//! shows. A SIGINT during the drain stops the remaining runs, another ends the process at once.

use std::time::Duration;

use ars_bot_core::{Core, DRAIN_DEADLINE, registry::IndexChange};
use ars_events::{Actor, ActorKind};
use ars_types::StopMode;
use tokio::{sync::broadcast::error::RecvError, time::Instant};

use crate::{
    services,
    signals::{Signals, StopSignal},
    terminal,
};

/// Timeout for recording stopped runs: the history writer's attempts, waits and timeouts.
const STOP_LIMIT: Duration = Duration::from_secs(45);

/// Why the server shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownCause {
    /// The process received a signal.
    Signal(StopSignal),
    /// The service with this name failed.
    ServiceFailed(&'static str),
}

/// How the shutdown ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownOutcome {
    /// Nothing was in flight any more.
    Drained,
    /// The drain's deadline passed first.
    DeadlinePassed,
    /// The runs in flight were stopped.
    Stopped,
}

/// Waits for the work in flight, or stops it on a further SIGINT, then stops the HTTP server.
pub async fn shut_down(
    core: &Core,
    signals: &mut Signals,
    cause: ShutdownCause,
    server: &services::Handle,
) -> ShutdownOutcome {
    let in_flight = core.load().in_flight;
    tracing::info!(in_flight, ?cause, "shutting down");
    if cause == ShutdownCause::Signal(StopSignal::Interrupt) && in_flight > 0 {
        // A person pressed Ctrl-C and must see that it had an effect.
        terminal::tell(&format!(
            "waiting for requests in flight ({in_flight}); Ctrl-C again stops them"
        ));
    }
    let deadline = Instant::now() + DRAIN_DEADLINE;
    let drained = tokio::select! {
        // The probe answers during the drain, so the server goes on.
        drained = core.drain(DRAIN_DEADLINE) => Some(drained),
        () = signals.interrupted() => None,
    };
    server.stop();
    let Some(drained) = drained else {
        return stopped(core, signals, server).await;
    };
    if !drained {
        return deadline_passed(core).await;
    }
    // Responses in flight share the drain's deadline.
    let left = deadline.saturating_duration_since(Instant::now());
    tokio::select! {
        finished = finish(core, server, left) => {
            if finished { ShutdownOutcome::Drained } else { deadline_passed(core).await }
        }
        () = signals.interrupted() => ShutdownOutcome::Stopped,
    }
}

/// Stops the runs in flight; a further SIGINT ends even that wait.
async fn stopped(core: &Core, signals: &mut Signals, server: &services::Handle) -> ShutdownOutcome {
    tracing::info!(
        in_flight = core.load().in_flight,
        "stopping the runs in flight"
    );
    tokio::select! {
        () = stop(core, server) => {}
        () = signals.interrupted() => {
            tracing::error!(in_flight = core.load().in_flight, "interrupted again: ending at once");
        }
    }
    ShutdownOutcome::Stopped
}

/// Records the runs in flight as abandoned.
async fn deadline_passed(core: &Core) -> ShutdownOutcome {
    let in_flight = core.load().in_flight;
    let recorded = core.record_abandoned().await;
    tracing::error!(in_flight, recorded, "the drain's deadline passed");
    ShutdownOutcome::DeadlinePassed
}

/// Stops every run, including those that pending requests still start, and waits for their records.
async fn stop(core: &Core, server: &services::Handle) {
    let actor = Actor::new(ActorKind::Cli, "signal");
    let mut index = core.registry().subscribe_index();
    core.registry().stop_all(StopMode::Hard, &actor);
    let finished = finish(core, server, STOP_LIMIT);
    tokio::pin!(finished);
    loop {
        tokio::select! {
            done = &mut finished => {
                if !done {
                    tracing::error!(in_flight = core.load().in_flight, "stopped runs were not recorded in time");
                }
                return;
            }
            change = index.recv() => match change {
                Ok(IndexChange::Upsert(id)) => {
                    // A stop changes the index too, so a run that is stopping is skipped.
                    if core.registry().get(&id).is_some_and(|run| run.stop.is_none()) {
                        core.registry().stop(&id, StopMode::Hard, actor.clone());
                    }
                }
                Ok(IndexChange::Removed(_)) => {}
                Err(RecvError::Lagged(_)) => core.registry().stop_all(StopMode::Hard, &actor),
                // The registry lives as long as the core.
                Err(RecvError::Closed) => return,
            },
        }
    }
}

/// Waits until the server and work in flight end; returns `false` if `limit` passed first.
async fn finish(core: &Core, server: &services::Handle, limit: Duration) -> bool {
    let all = async {
        server.ended().await;
        core.drain(limit).await
    };
    tokio::time::timeout(limit, all).await.unwrap_or(false)
}

#[cfg(test)]
#[path = "shutdown_tests.rs"]
mod tests;
