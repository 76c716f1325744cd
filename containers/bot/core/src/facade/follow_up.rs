//! A follow-up from a live run's page, authorized by the run's view token.
//!
//! The agent and repository gates apply to the viewer as to every follow-up sender (`dispatch::steer`). A
//! command in the text is prose: the viewer addresses the agent.

use std::sync::Arc;

use ars_auth::Actor;
use ars_bot_ports::{Choices, IncomingMessage, NobodyListens, Refusal};
use ars_events::InputSource;
use ars_types::RunId;

use super::Core;
use crate::{
    dispatch::{self, Steering},
    queries::{Found, QueryError, Reader, RunView},
    request::Request,
};

/// The reason for a rejected follow-up.
#[derive(Debug)]
pub enum FollowUpError {
    /// The run cannot be read, or has finished.
    Run(QueryError),
    /// The follow-up is refused.
    Refused(Refusal),
}

impl Core {
    /// Adds a follow-up to a live run.
    ///
    /// # Errors
    ///
    /// The reader has no valid view token, the run has ended, or the actor may not steer it.
    pub async fn follow_up(
        &self,
        reader: &Reader<'_>,
        actor: Actor,
        id: &RunId,
        text: String,
    ) -> Result<(), FollowUpError> {
        let run = match self
            .queries()
            .get(reader, id)
            .await
            .map_err(FollowUpError::Run)?
        {
            Found::Live(run) if run.finished.is_none() => run,
            Found::Live(_) => return Err(FollowUpError::Run(QueryError::AlreadyFinished)),
            Found::Finished(_) => return Err(FollowUpError::Run(QueryError::NotFound)),
        };
        let Some(in_flight) = self.context.in_flight().try_enter() else {
            return Err(FollowUpError::Refused(Refusal::ShuttingDown));
        };
        let Some(message) = message(run, actor, text, self.clock().now()) else {
            return Err(FollowUpError::Run(QueryError::NotFound));
        };
        // An unread follow-up becomes its own run, which has a page and no other channel.
        let request = Request {
            message,
            io: Arc::new(NobodyListens),
            may_wait: true,
            in_flight,
        };
        let steering = Steering::verbatim(&request);
        let steered = match steering.steer_local(&self.context).await {
            Ok(None) => steering.steer_any_remote(&self.context).await,
            steered => steered,
        };
        match steered {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(FollowUpError::Run(QueryError::AlreadyFinished)),
            Err(refusal) => {
                dispatch::count(&refusal);
                Err(FollowUpError::Refused(refusal))
            }
        }
    }
}

fn message(run: RunView, actor: Actor, text: String, received_at: i64) -> Option<IncomingMessage> {
    let source = InputSource {
        url: None,
        channel: Some(run.channel_id.clone()),
        user: Some(actor.id.clone()),
    };
    Some(IncomingMessage {
        actor,
        channel_id: run.channel_id,
        thread_key: run.thread_key?,
        visibility: run.visibility,
        text,
        attachments: Vec::new(),
        received_at,
        choices: Choices::default(),
        source: Some(source),
        idempotency: None,
        is_confirmed: false,
    })
}
