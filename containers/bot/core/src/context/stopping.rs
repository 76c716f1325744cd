//! Stops this process's runs: applied to the driver, and recorded in the ledger for later owners.

use std::time::Duration;

use ars_bot_ports::StoreErrorKind;
use ars_events::{Actor, ActorKind};
use ars_types::{RunId, StopMode};

use super::RunContext;
use crate::{registry::StopOutcome, retry::Policy};

/// Wait between two attempts to record a stop in the ledger.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

impl RunContext {
    /// Stops a run, authorized by the capability token. Such a stop carries no actor.
    pub(crate) async fn stop_with_token(
        &self,
        id: &RunId,
        token: &str,
        mode: StopMode,
    ) -> StopOutcome {
        let outcome = self.registry().stop_with_token(id, token, mode);
        self.record_stop(id, mode, None, outcome).await
    }

    /// Stops this process's run for an authorized actor.
    pub(crate) async fn stop(&self, id: &RunId, mode: StopMode, actor: Actor) -> StopOutcome {
        let outcome = self.registry().stop(id, mode, actor.clone());
        self.record_stop(id, mode, Some(actor), outcome).await
    }

    /// Stops a run whose request was deleted before the run read it, in the requester's name.
    pub(crate) async fn stop_withdrawn(&self, id: &RunId) {
        let Some(run) = self.registry().get(id) else {
            return;
        };
        let requester = Actor::new(ActorKind::Chat, &run.facts.user_id);
        self.stop(id, StopMode::Hard, requester).await;
    }

    /// Records the stop in the ledger before it is answered.
    /// A crash right after the answer must not revive the run.
    async fn record_stop(
        &self,
        id: &RunId,
        mode: StopMode,
        actor: Option<Actor>,
        outcome: StopOutcome,
    ) -> StopOutcome {
        if let (StopOutcome::Stopping, Some(live)) = (outcome, self.live())
            && let Err(error) = Policy::CLAIM
                .run(id, || live.ledger().stop(id, mode, actor.as_ref()))
                .await
        {
            tracing::warn!(run = %id, error = %error, "stop not recorded in the ledger yet");
            if error.kind == StoreErrorKind::Transient {
                tokio::spawn(self.clone().retry_stop(id.clone(), mode, actor));
            }
        }
        outcome
    }

    /// Retries to record a stop in the ledger.
    /// It continues after the run's end here, because another process may own the run and continue it.
    async fn retry_stop(self, id: RunId, mode: StopMode, actor: Option<Actor>) {
        let Some(live) = self.live() else { return };
        loop {
            tokio::time::sleep(RETRY_INTERVAL).await;
            match live.ledger().stop(&id, mode, actor.as_ref()).await {
                Err(error) if error.kind == StoreErrorKind::Transient => {}
                _ => return,
            }
        }
    }
}
