//! `GET /runs/<id>/friction`: a run's diagnosis.

use ars_auth::Viewer;
use axum::{Extension, extract::State, http::StatusCode, response::Response};

use super::run_ref::{RunRef, reject};
use crate::{respond, state::HttpState};

/// Answers with the stored diagnosis, or diagnoses the events so far.
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
