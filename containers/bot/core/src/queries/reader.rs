//! The entry to the queries, and the reader that each answer depends on.

use ars_auth::{Denied, Viewer};
use ars_bot_ports::StoreError;
use ars_types::RunId;

use super::{QueryError, RunEntry, RunSummary, RunView};
use crate::{context::RunContext, live::LiveListing};

/// Answers run queries for a single core.
#[derive(Clone)]
pub struct Queries {
    pub(super) context: RunContext,
}

/// A run's reader.
#[derive(Clone, Copy)]
pub struct Reader<'r> {
    /// The authenticated viewer of the run.
    pub viewer: &'r Viewer,
    /// The run's capability token; empty if absent.
    pub token: &'r str,
    /// The route or command, for the audit log.
    pub route: &'static str,
}

impl Queries {
    pub(crate) fn new(context: RunContext) -> Self {
        Self { context }
    }

    /// Returns every process's live runs.
    pub(super) async fn live_rows(&self) -> LiveListing {
        live_rows(&self.context).await
    }
}

/// Returns every process's live runs; none without a ledger.
pub(super) async fn live_rows(context: &RunContext) -> LiveListing {
    match context.live() {
        Some(live) => live.rows(context.clock()).await,
        None => LiveListing::default(),
    }
}

impl Reader<'_> {
    /// Returns the run if the viewer may read it, and logs the access either way.
    pub(super) fn readable(&self, run: RunView) -> Result<RunView, QueryError> {
        self.viewer
            .check_read(&run.channel_id, run.visibility, &run.user_id)
            .map_err(|reason| self.denied(reason))?;
        self.log_read(&run.id);
        Ok(run)
    }

    /// Checks that the viewer may read the run.
    pub(super) fn check_read(&self, run: &RunEntry) -> Result<(), Denied> {
        let RunSummary {
            channel_id,
            visibility,
            user_id,
            ..
        } = &run.summary;
        self.viewer.check_read(channel_id, *visibility, user_id)
    }

    /// Logs a history outage.
    pub(super) fn unavailable(&self, error: &StoreError) -> QueryError {
        tracing::error!(route = self.route, error = %error, "history not readable");
        QueryError::Unavailable
    }

    pub(super) fn log_read(&self, id: &RunId) {
        tracing::info!(route = self.route, run = %id, viewer = self.viewer.id(), "run read without token");
    }

    /// Logs the read of a run that does not exist for the reader. The line never names the run.
    pub(super) fn hidden(&self, reason: &'static str) -> QueryError {
        tracing::info!(
            route = self.route,
            viewer = self.viewer.id(),
            reason,
            "run not shown"
        );
        QueryError::NotFound
    }

    /// Logs a denied read. The line never names the run.
    pub(super) fn denied(&self, reason: Denied) -> QueryError {
        tracing::info!(route = self.route, viewer = self.viewer.id(), %reason, "run not shown");
        QueryError::Denied(reason)
    }
}
