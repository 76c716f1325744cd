//! How the server ends (bot supplement section 23): SIGTERM and SIGINT have it wait for what is in flight while the probe
//! shows the drain; SIGINT after either stops what is left; one more leaves at once.

use std::time::Duration;

use ars_bot_core::{Core, DRAIN_DEADLINE, registry::IndexChange};
use ars_events::{Actor, ActorKind};
use ars_types::StopMode;
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    signals::{Signals, Told},
    terminal,
};

/// How long stopped runs may take to be recorded: the history writer's attempts, waits and time-outs.
const STOP_LIMIT: Duration = Duration::from_secs(45);

/// How the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wound {
    /// Nothing was in flight any more.
    Down,
    /// The drain's deadline passed first.
    Late,
    /// What was in flight was stopped.
    Stopped,
}

/// Waits for what is in flight, or ends it when told again, then ends the server.
pub async fn wind_down(
    core: &Core,
    signals: &mut Signals,
    told: Told,
    closing: CancellationToken,
    server: JoinHandle<()>,
) -> Wound {
    let in_flight = core.load().in_flight;
    tracing::info!(in_flight, ?told, "shutting down");
    if told == Told::Interrupt && in_flight > 0 {
        // Whoever pressed it sits there, and would think that it did nothing.
        terminal::tell(&format!("waiting for what is in flight ({in_flight}); Ctrl-C again stops it"));
    }
    let deadline = Instant::now() + DRAIN_DEADLINE;
    let drained = tokio::select! {
        // The probe answers during the drain, so the server goes on.
        drained = core.drain(DRAIN_DEADLINE) => Some(drained),
        () = signals.interrupted() => None,
    };
    closing.cancel();
    let Some(drained) = drained else {
        return stopped(core, signals, server).await;
    };
    if !drained {
        return late(core).await;
    }
    // Answers under way are waited for too, within what is left of the one deadline.
    let left = deadline.saturating_duration_since(Instant::now());
    tokio::select! {
        finished = finish(core, server, left) => if finished { Wound::Down } else { late(core).await },
        () = signals.interrupted() => Wound::Stopped,
    }
}

/// Stops what is in flight, unless told once more not even to wait for that.
async fn stopped(core: &Core, signals: &mut Signals, server: JoinHandle<()>) -> Wound {
    tracing::info!(in_flight = core.load().in_flight, "stopping what is in flight");
    tokio::select! {
        () = stop(core, server) => {}
        () = signals.interrupted() => {
            tracing::error!(in_flight = core.load().in_flight, "told again: leaving at once");
        }
    }
    Wound::Stopped
}

/// Leaves what is not done with a record that says so.
async fn late(core: &Core) -> Wound {
    let in_flight = core.load().in_flight;
    let recorded = core.record_abandoned().await;
    tracing::error!(in_flight, recorded, "the drain's deadline passed");
    Wound::Late
}

/// Stops every run, those included that requests still on their way begin, and waits for their records.
async fn stop(core: &Core, server: JoinHandle<()>) {
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
                    // A stop shows in the index as well: only runs that were not told yet are told.
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

/// Waits for the server's end, then for what it left in flight; false when the limit passed first.
async fn finish(core: &Core, server: JoinHandle<()>, limit: Duration) -> bool {
    let all = async {
        // A server that panicked has nothing left to close.
        drop(server.await);
        core.drain(limit).await
    };
    tokio::time::timeout(limit, all).await.unwrap_or(false)
}

#[cfg(test)]
#[path = "shutdown_tests.rs"]
mod tests;
