//! Stops a run in any process.

use ars_bot_ports::Stop;
use ars_events::Actor;
use ars_types::{RunId, StopMode};

use super::{Queries, QueryError, Reader};
use crate::registry::StopOutcome;

impl Queries {
    /// Stops a live run with the view token.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::AlreadyFinished`] for a finished run if the reader has the token or
    /// may stop such runs, and [`QueryError::NotFound`] or [`QueryError::Denied`] otherwise.
    pub async fn stop(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
        mode: StopMode,
    ) -> Result<(), QueryError> {
        match self.context.stop_with_token(id, reader.token, mode).await {
            StopOutcome::Stopping => return Ok(()),
            StopOutcome::Finished => return Err(QueryError::AlreadyFinished),
            StopOutcome::Unknown => {}
        }
        if self.open_remote(reader, id).await.is_some() && self.stop_remote(id, mode, None).await? {
            return Ok(());
        }
        self.reject_ended(reader, id).await
    }

    /// Stops a live run with the viewer's own permission, for surfaces without view tokens.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::Denied`] for a run that the viewer may not stop, and [`QueryError::Unavailable`] for it and
    /// for an unknown run while a store is down.
    pub async fn stop_as(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
        mode: StopMode,
        actor: Actor,
    ) -> Result<(), QueryError> {
        let check = |channel: &str, visibility| reader.viewer.check_stop(channel, visibility);
        let mut denied = None;
        if let Some(run) = self
            .context
            .registry()
            .get(id)
            .filter(|run| run.finished.is_none())
        {
            match check(&run.facts.channel_id, run.facts.visibility) {
                Ok(()) => match self.context.stop(id, mode, actor.clone()).await {
                    StopOutcome::Stopping => return Ok(()),
                    StopOutcome::Finished => return Err(QueryError::AlreadyFinished),
                    // It left this process in the meantime.
                    StopOutcome::Unknown => {}
                },
                Err(reason) => denied = Some(reason),
            }
        }
        let listing = self.live_rows().await;
        let facts = listing.find(id).and_then(|row| row.facts.as_ref());
        match facts.map(|facts| check(&facts.channel_id, facts.visibility)) {
            Some(Ok(())) if self.stop_remote(id, mode, Some(&actor)).await? => return Ok(()),
            Some(Err(reason)) => denied = Some(reason),
            Some(Ok(())) | None => {}
        }
        // A denied run and an unknown run take the same steps, so they are alike during an outage.
        self.reject_ended(reader, id)
            .await
            .map_err(|error| match denied {
                Some(reason) if error == QueryError::NotFound => QueryError::Denied(reason),
                _ => error,
            })
    }

    /// Asks the ledger to stop a run. Returns `false` if the run is no longer live. The owner's
    /// note names the actor.
    async fn stop_remote(
        &self,
        id: &RunId,
        mode: StopMode,
        actor: Option<&Actor>,
    ) -> Result<bool, QueryError> {
        let Some(live) = self.context.live() else {
            return Ok(false);
        };
        match live.ledger().stop(id, mode, actor).await {
            Ok(stop) => {
                live.forget_rows().await;
                Ok(stop != Stop::NotLive)
            }
            Err(error) => {
                tracing::warn!(run = %id, error = %error, "run of another process not stopped");
                Err(QueryError::Unavailable)
            }
        }
    }

    /// Fails with the error for a run that is not live.
    async fn reject_ended(&self, reader: &Reader<'_>, id: &RunId) -> Result<(), QueryError> {
        let view = self.finished(reader, id).await?;
        match reader.viewer.check_stop(&view.channel_id, view.visibility) {
            Ok(()) => Err(QueryError::AlreadyFinished),
            Err(reason) => Err(QueryError::Denied(reason)),
        }
    }
}
