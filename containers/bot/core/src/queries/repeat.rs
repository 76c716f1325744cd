//! Earlier requests with the same idempotency key (docs/reference/ingress.md#idempotency).
//!
//! Finds the earlier request's run and outcome. No viewer is checked: the key belongs to the caller
//! that started the run. Not here: concurrent requests in a process (`ars-bot-http`).

use std::time::Duration;

use ars_types::{RunId, RunStatus};
use ars_wire::idempotency::{FirstUse, IdempotencyKey};
use serde_json::Value;

use super::{Queries, QueryError};
use crate::{error::OutcomeError, history::is_provisional};

/// Interval at which a repeated request checks whether the first request's run has ended.
const OUTCOME_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A run's outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How the run ended.
    pub status: RunStatus,
    /// The answer, as the record has it.
    pub answer: Option<String>,
}

impl Queries {
    /// Returns the first request with an idempotency key, or `None` without such a request or
    /// without a ledger.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::Unavailable`] if the ledger does not answer.
    pub async fn first_use(&self, key: &IdempotencyKey) -> Result<Option<FirstUse>, QueryError> {
        let Some(live) = self.context.live() else {
            return Ok(None);
        };
        live.first_use(key).await.map_err(|error| {
            tracing::warn!(error = %error, "idempotency key not looked up");
            QueryError::Unavailable
        })
    }

    /// Waits until a run in any process ends and returns the outcome.
    ///
    /// # Errors
    ///
    /// Returns [`OutcomeError::ShuttingDown`] if the process shuts down and another process drives
    /// the run.
    pub async fn outcome(&self, id: &RunId) -> Result<Outcome, OutcomeError> {
        // A listing from before the claim would hide the run.
        if let Some(live) = self.context.live() {
            live.forget_rows().await;
        }
        loop {
            if let Some(outcome) = self.outcome_so_far(id).await? {
                return Ok(outcome);
            }
            tokio::time::sleep(OUTCOME_POLL_INTERVAL).await;
        }
    }

    /// Returns a run's outcome, or `None` while it is live.
    async fn outcome_so_far(&self, id: &RunId) -> Result<Option<Outcome>, OutcomeError> {
        if let Some(run) = self.context.registry().get(id) {
            let status = run.sealed.and(run.finished).map(|(_, status)| status);
            let events = || {
                run.events
                    .iter()
                    .filter_map(|json| serde_json::from_str::<Value>(json).ok())
            };
            return Ok(status.map(|status| Outcome {
                status,
                answer: answer(events()),
            }));
        }
        let listing = self.live_rows().await;
        if listing.is_unavailable {
            return Err(OutcomeError::Unavailable);
        }
        if listing.find(id).is_some() {
            return if self.context.is_draining() {
                Err(OutcomeError::ShuttingDown)
            } else {
                Ok(None)
            };
        }
        match self.context.store().get(id).await {
            Ok(Some(record)) if !is_provisional(&record) => Ok(Some(Outcome {
                status: record.status,
                answer: answer(record.events),
            })),
            Ok(Some(_) | None) => Err(OutcomeError::Gone),
            Err(error) => {
                tracing::warn!(run = %id, error = %error, "outcome of a run not read");
                Err(OutcomeError::Unavailable)
            }
        }
    }
}

/// Returns the last answer's text.
fn answer(events: impl IntoIterator<Item = Value>) -> Option<String> {
    let answers = events.into_iter().filter(|event| event["type"] == "answer");
    answers.last()?.get("text")?.as_str().map(str::to_owned)
}
