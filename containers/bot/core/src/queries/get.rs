//! A single run: live with the capability token, else once it has finished.

use ars_types::RunId;

use super::{Queries, QueryError, Reader, RunSummary, RunView};
use crate::{history::is_provisional, live::LiveRow};

/// A run that the reader may see.
#[derive(Debug, Clone)]
pub enum Found {
    /// Opened by the capability token.
    Live(RunView),
    /// Finished and readable by the viewer.
    Finished(RunView),
}

impl Found {
    /// Returns the run in either case.
    pub fn into_view(self) -> RunView {
        match self {
            Self::Live(view) | Self::Finished(view) => view,
        }
    }
}

impl Queries {
    /// Returns a run.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::NotFound`] for an unknown run and for an unfinished run without the
    /// token, and [`QueryError::Denied`] for a run that the viewer may not read.
    pub async fn get(&self, reader: &Reader<'_>, id: &RunId) -> Result<Found, QueryError> {
        if let Some(run) = self.context.registry().open(id, reader.token) {
            return Ok(Found::Live(RunView::of_live(&run)));
        }
        if let Some(row) = self.open_remote(reader, id).await {
            let events = self.remote_events(id, 0).await?;
            if let Some(view) = RunView::of_row(&row, events) {
                return Ok(Found::Live(view));
            }
        }
        self.finished(reader, id).await.map(Found::Finished)
    }

    /// Returns a live run's capability token if the viewer may read the run, as lists do.
    pub async fn live_token(&self, reader: &Reader<'_>, id: &RunId) -> Option<String> {
        // Read for every run, so that the time tells nothing about a hidden run.
        let listing = self.live_rows().await;
        let run = match self.context.registry().get(id) {
            Some(run) => RunSummary::of_live(&run),
            None => RunSummary::of_row(listing.find(id)?)?,
        };
        let token = run
            .token
            .clone()
            .filter(|_| run.is_readable(reader.viewer))?;
        reader.log_read(id);
        Some(token)
    }

    /// Returns a finished run that the viewer may read.
    ///
    /// The ledger and the history are read for a live or denied run as well: neither may differ
    /// from an unknown run in time, nor while the history is down.
    pub(super) async fn finished(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
    ) -> Result<RunView, QueryError> {
        let local = self.context.registry().get(id);
        let ended = local
            .as_ref()
            .filter(|run| run.finished.is_some())
            .map(RunView::of_live);
        if let Some(view) = ended
            && reader
                .viewer
                .may_read(&view.channel_id, view.visibility, &view.user_id)
        {
            return reader.readable(view);
        }
        let listing = self.live_rows().await;
        let is_live = local.is_some() || listing.find(id).is_some();
        let found = match self.context.store().get(id).await {
            // A live run's record is provisional.
            Ok(Some(record)) if !(is_live || listing.is_unavailable && is_provisional(&record)) => {
                reader.readable(RunView::of_record(record))
            }
            Ok(Some(_) | None) => Err(reader.hidden("unfinished-or-unknown")),
            Err(error) => {
                tracing::error!(route = reader.route, error = %error, "history not readable");
                Err(QueryError::Unavailable)
            }
        };
        // Without the listing any hidden run may be live. They all have the same answer, so that none is revealed.
        found.map_err(|error| {
            if listing.is_unavailable {
                QueryError::Unavailable
            } else {
                error
            }
        })
    }

    /// Returns another process's run row, opened by token; the registry decides about its own.
    pub(super) async fn open_remote(&self, reader: &Reader<'_>, id: &RunId) -> Option<LiveRow> {
        if reader.token.is_empty() || self.context.registry().get(id).is_some() {
            return None;
        }
        self.live_rows()
            .await
            .find(id)
            .filter(|row| row.is_opened_by(reader.token))
            .cloned()
    }

    /// Returns the events after a seq that the ledger holds for another process's run.
    pub(super) async fn remote_events(
        &self,
        id: &RunId,
        after: u64,
    ) -> Result<Vec<serde_json::Value>, QueryError> {
        let Some(live) = self.context.live() else {
            return Ok(Vec::new());
        };
        live.ledger().live_events(id, after).await.map_err(|error| {
            tracing::error!(run = %id, error = %error, "events of another process's run not readable");
            QueryError::Unavailable
        })
    }
}
