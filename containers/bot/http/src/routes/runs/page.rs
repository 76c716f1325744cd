//! `GET /runs/<id>`: live with the run's token, static once the run has finished.

use axum::{
    Extension,
    extract::State,
    http::{HeaderValue, header::HeaderName},
    response::Response,
};

use super::{lookup, run_ref::RunRef};
use crate::{
    pages::{RunPage, RunView},
    state::HttpState,
    viewer::Viewer,
};

/// How a finished run ended, for the live page: the stream's `finished` event does not say.
const STATUS_HEADER: HeaderName = HeaderName::from_static("x-run-status");

/// The page.
pub(crate) async fn page(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    run: RunRef,
) -> Response {
    if let Some(live) = state.core.registry().open(&run.id, &run.token) {
        return RunPage::live(&RunView::of_live(&live)).into_response();
    }
    let view = match lookup::finished(&state, &viewer, "runs.page", &run.id).await {
        Ok(view) => view,
        Err(hidden) => return hidden.into_response(),
    };
    let mut response = RunPage::history(&view).into_response();
    if let Some((_, status)) = view.finished {
        response.headers_mut().insert(STATUS_HEADER, HeaderValue::from_static(status.as_str()));
    }
    response
}
