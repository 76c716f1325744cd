//! `POST /runs/<id>/stop?t=&mode=`: stops a live run.

use ars_auth::Viewer;
use ars_types::{RunId, StopMode};
use ars_wire::ErrorCode;
use axum::{
    Extension,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};
use serde::Serialize;

use super::run_ref::{RunRef, reject};
use crate::{params, respond, state::HttpState};

#[derive(Serialize)]
struct Stopping {
    id: RunId,
    mode: StopMode,
    state: &'static str,
}

/// Checks the mode first, so that the response to a malformed mode reveals nothing about the run.
pub(crate) async fn stop(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    uri: Uri,
    run: RunRef,
) -> Response {
    let Some(mode) = params::query(&uri, "mode")
        .as_deref()
        .and_then(StopMode::parse)
    else {
        return respond::coded(ErrorCode::InvalidInput, "mode must be soft or hard");
    };
    match state
        .core
        .queries()
        .stop(&run.reader(&viewer, "runs.stop"), &run.id, mode)
        .await
    {
        Ok(()) => {
            tracing::info!(run = %run.id, mode = %mode, viewer = viewer.id(), "stop requested");
            respond::json(
                StatusCode::OK,
                &Stopping {
                    id: run.id,
                    mode,
                    state: "stopping",
                },
            )
        }
        Err(error) => reject(error),
    }
}
