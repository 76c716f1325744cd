//! `GET /runs/<id>`: live with the run's token, static once the run has finished. `tab` selects one
//! of three views. A person who may read a live run is led from the link without a token to the
//! link with it.

use ars_auth::Viewer;
use ars_bot_core::queries::{Found, QueryError};
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, Uri, header::HeaderName},
    response::Response,
};

use super::{
    changes::Changes,
    diagnosis::DiagnosisView,
    parts::{RunParts, Tab},
    run_ref::{RunRef, reject},
};
use crate::{
    dashboard::{
        gate::is_browser,
        shell::{Nav, Section},
    },
    params, respond,
    state::HttpState,
};

/// A finished run's outcome, for the live page: the stream's `finished` event lacks it.
const STATUS_HEADER: HeaderName = HeaderName::from_static("x-run-status");

/// Answers with the page.
pub(crate) async fn page(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    method: Method,
    headers: HeaderMap,
    uri: Uri,
    run: RunRef,
) -> Response {
    let error = match view(&state, &viewer, &uri, &run).await {
        Ok(response) => return response,
        Err(error) => error,
    };
    if run.token.is_empty() && is_browser(&method, &headers) {
        let reader = run.reader(&viewer, "runs.page");
        if let Some(token) = state.core.queries().live_token(&reader, &run.id).await {
            return respond::see_other(&with_token(&uri, &run, &token));
        }
    }
    reject(error)
}

/// Returns the same view's address with the token.
fn with_token(uri: &Uri, run: &RunRef, token: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("t", token);
    for name in ["tab", "before"] {
        query.extend_pairs(params::query(uri, name).map(|value| (name, value)));
    }
    format!("/runs/{}?{}", run.id, query.finish())
}

async fn view(
    state: &HttpState,
    viewer: &Viewer,
    uri: &Uri,
    run: &RunRef,
) -> Result<Response, QueryError> {
    let queries = state.core.queries();
    let reader = run.reader(viewer, "runs.page");
    let tab = match params::query(uri, "tab").as_deref() {
        Some("changes") => Tab::Changes,
        Some("friction") => Tab::Friction,
        _ => Tab::Transcript,
    };
    let (found, diff) = match tab {
        Tab::Changes => queries
            .diff(&reader, &run.id)
            .await
            .map(|(found, diff)| (found, Some(diff)))?,
        Tab::Transcript | Tab::Friction => (queries.get(&reader, &run.id).await?, None),
    };
    let (view, token) = match &found {
        Found::Live(view) => (view, Some(run.token.as_str())),
        Found::Finished(view) => (view, None),
    };
    let parts = RunParts {
        nav: Nav::new(state, Section::Runs),
        run: view,
        limits: queries.limits(view),
        token,
    };
    let mut response = match (tab, diff) {
        (Tab::Changes, Some(diff)) => parts.changes(Changes::from_diff(&diff)),
        (Tab::Friction, _) => parts.friction(DiagnosisView::from_diagnosis(
            view.diagnosed(),
            view.finished.map(|(_, status)| status),
        )),
        _ => parts.transcript(before(uri)),
    };
    if let (None, Some((_, status))) = (token, view.finished) {
        response
            .headers_mut()
            .insert(STATUS_HEADER, HeaderValue::from_static(status.as_str()));
    }
    Ok(response)
}

/// Returns the seq before which events are wanted. A malformed seq is ignored.
pub(super) fn before(uri: &Uri) -> Option<u64> {
    params::query(uri, "before")?.parse().ok()
}
