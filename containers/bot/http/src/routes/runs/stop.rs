//! `POST /runs/<id>/stop?t=&mode=`: stops a live run (bot supplement section 11.2).

use ars_bot_core::registry::StopOutcome;
use ars_types::{RunId, StopMode};
use ars_wire::ErrorCode;
use axum::{
    Extension,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use serde::Serialize;

use super::{
    lookup,
    run_ref::{RunRef, not_found},
};
use crate::{params, respond, state::HttpState, viewer::Viewer};

#[derive(Serialize)]
struct Stopping {
    id: RunId,
    mode: StopMode,
    state: &'static str,
}

/// The mode is checked first, so that a bad one says nothing about the run.
pub(crate) async fn stop(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    uri: Uri,
    run: RunRef,
) -> Response {
    let Some(mode) = params::query(&uri, "mode").as_deref().and_then(StopMode::parse) else {
        return respond::coded(ErrorCode::InvalidInput, "mode must be soft or hard");
    };
    match state.core.stop_with_token(&run.id, &run.token, mode).await {
        StopOutcome::Stopping => {
            tracing::info!(run = %run.id, mode = %mode, viewer = viewer.id(), "stop requested");
            respond::json(StatusCode::OK, &Stopping { id: run.id, mode, state: "stopping" })
        }
        StopOutcome::Finished => already_finished(),
        StopOutcome::Unknown => without_token(&state, &viewer, &run.id).await,
    }
}

/// Only who may stop runs learns that this one has finished.
async fn without_token(state: &HttpState, viewer: &Viewer, id: &RunId) -> Response {
    match lookup::finished(state, viewer, "runs.stop", id).await {
        Ok(view) if viewer.may_write(&view.channel_id, view.visibility) => already_finished(),
        Ok(_) => not_found(),
        Err(hidden) => hidden.into_response(),
    }
}

fn already_finished() -> Response {
    respond::coded(ErrorCode::Conflict, "the run has already finished")
}
