//! Finding a finished run without its token: in the registry while it stays there, else in the history.

use ars_types::RunId;
use axum::{http::StatusCode, response::Response};

use super::run_ref::not_found;
use crate::{pages::RunView, respond, state::HttpState, viewer::Viewer};

/// Why a run is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Unknown, unfinished or not readable: not to be told apart.
    NotFound,
    /// The history does not answer.
    StoreDown,
}

impl Hidden {
    /// The answer.
    pub(super) fn into_response(self) -> Response {
        match self {
            Self::NotFound => not_found(),
            Self::StoreDown => respond::plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "The run history is not available right now.\n",
            ),
        }
    }
}

/// A finished run the viewer may read.
///
/// The history is asked also for a run that is live here: a live run and an unknown one must not differ, neither
/// in the time they take nor when the store is down.
pub(super) async fn finished(
    state: &HttpState,
    viewer: &Viewer,
    route: &'static str,
    id: &RunId,
) -> Result<RunView, Hidden> {
    let live = state.core.registry().get(id);
    if let Some(run) = live.as_ref().filter(|run| run.finished.is_some()) {
        return readable(RunView::of_live(run), viewer, route);
    }
    match state.core.store().get(id).await {
        Ok(Some(record)) if live.is_none() => readable(RunView::of_record(record), viewer, route),
        // A record of a live run is the provisional one.
        Ok(Some(_) | None) => Err(refused(viewer, route, "unfinished-or-unknown")),
        Err(error) => {
            tracing::error!(route, error = %error, "history not readable");
            Err(Hidden::StoreDown)
        }
    }
}

fn readable(run: RunView, viewer: &Viewer, route: &'static str) -> Result<RunView, Hidden> {
    if !viewer.may_read(&run.channel_id, run.visibility, &run.user_id) {
        return Err(refused(viewer, route, "no-rule"));
    }
    tracing::info!(route, run = %run.id, viewer = viewer.id(), "run read without token");
    Ok(run)
}

/// The line of a refused read never names the run.
fn refused(viewer: &Viewer, route: &'static str, reason: &'static str) -> Hidden {
    tracing::info!(route, viewer = viewer.id(), reason, "run not shown");
    Hidden::NotFound
}
