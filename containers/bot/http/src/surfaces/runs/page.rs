//! `GET /runs/<id>`: live with the run's token, static once the run has finished.

use ars_auth::Viewer;
use ars_bot_core::queries::Found;
use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, header::HeaderName},
    response::Response,
};

use super::{
    pages::RunPage,
    run_ref::{RunRef, reject},
};
use crate::state::HttpState;

/// The outcome of a finished run, for the live page: the stream's `finished` event lacks it.
const STATUS_HEADER: HeaderName = HeaderName::from_static("x-run-status");

/// Answers with the page.
pub(crate) async fn page(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    run: RunRef,
) -> Response {
    let view = match state.core.queries().get(&run.reader(&viewer, "runs.page"), &run.id).await {
        Ok(Found::Live(view)) => return RunPage::live(&view).into_response(),
        Ok(Found::Finished(view)) => view,
        Err(error) => return reject(error),
    };
    let mut response = RunPage::history(&view).into_response();
    if let Some((_, status)) = view.finished {
        response.headers_mut().insert(STATUS_HEADER, HeaderValue::from_static(status.as_str()));
    }
    response
}
