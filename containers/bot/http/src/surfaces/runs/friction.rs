//! `GET /runs/<id>/friction`: the diagnosis of a run.

use ars_auth::Viewer;
use axum::{Extension, extract::State, http::StatusCode, response::Response};

use super::run_ref::{RunRef, reject};
use crate::{respond, state::HttpState};

/// Answers with the stored diagnosis, or with one of the events so far.
pub(crate) async fn friction(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    run: RunRef,
) -> Response {
    match state
        .core
        .queries()
        .friction(&run.reader(&viewer, "runs.friction"), &run.id)
        .await
    {
        Ok(friction) => respond::json(StatusCode::OK, &friction),
        Err(error) => reject(error),
    }
}
