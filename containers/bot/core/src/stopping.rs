//! Stopping a run so that it stays stopped: told to its driver here, and to the ledger for whoever drives it next
//! (document 2 section 3.3, state-worker supplement section 9.3).

use std::time::Duration;

use ars_bot_ports::{Stop, StoreErrorKind};
use ars_events::Actor;
use ars_types::{RunId, StopMode};

use crate::{context::RunContext, registry::StopOutcome, retry::Policy};

/// Between two attempts to tell the ledger of a stop.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

impl RunContext {
    /// Asks a run to stop, opened by its capability token; such a stop carries no actor.
    pub(crate) async fn stop_with_token(&self, id: &RunId, token: &str, mode: StopMode) -> StopOutcome {
        let outcome = self.registry().stop_with_token(id, token, mode);
        self.keep_stopped(id, mode, outcome).await
    }

    /// Asks a run to stop on behalf of an actor that was let in by other means; one of another process too.
    pub(crate) async fn stop(&self, id: &RunId, mode: StopMode, actor: Actor) -> StopOutcome {
        let outcome = self.registry().stop(id, mode, actor);
        if outcome == StopOutcome::Unknown {
            return self.stop_elsewhere(id, mode).await;
        }
        self.keep_stopped(id, mode, outcome).await
    }

    /// The answer waits until the ledger knows: a process that dies right after it must not revive the run.
    async fn keep_stopped(&self, id: &RunId, mode: StopMode, outcome: StopOutcome) -> StopOutcome {
        if let (StopOutcome::Stopping, Some(live)) = (outcome, self.live())
            && let Err(error) = Policy::CLAIM.run(id, || live.ledger().stop(id, mode)).await
        {
            tracing::warn!(run = %id, error = %error, "the ledger does not know of a stop yet");
            if error.kind == StoreErrorKind::Transient {
                tokio::spawn(self.clone().tell_of_stop(id.clone(), mode));
            }
        }
        outcome
    }

    /// Tells the ledger of a stop once it can be reached. That the run is over here says nothing: another process may
    /// have it, and would go on. Of one that is over everywhere the ledger knows no more.
    async fn tell_of_stop(self, id: RunId, mode: StopMode) {
        let Some(live) = self.live() else { return };
        loop {
            tokio::time::sleep(AGAIN_AFTER).await;
            match live.ledger().stop(&id, mode).await {
                Err(error) if error.kind == StoreErrorKind::Transient => {}
                _ => return,
            }
        }
    }

    async fn stop_elsewhere(&self, id: &RunId, mode: StopMode) -> StopOutcome {
        let Some(live) = self.live() else { return StopOutcome::Unknown };
        match live.ledger().stop(id, mode).await {
            Ok(Stop::Asked { .. }) => StopOutcome::Stopping,
            Ok(Stop::NotLive) => StopOutcome::Unknown,
            Err(error) => {
                tracing::warn!(run = %id, error = %error, "a run of another process could not be asked to stop");
                StopOutcome::Unknown
            }
        }
    }
}
