//! `GET /metrics`: the metrics for Prometheus, if the installation serves them (docs/logging.md).
//!
//! Behind the dashboard gate, because the edge exposes the port and load and cost are private. Where metrics are off,
//! the path has no route. Not here: the measurements.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::{absent::elsewhere, gate::admit, shell::add_page_headers};
use crate::state::HttpState;

/// Media type for the text format.
const CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Answers with the metrics, or like a path without a route.
pub(super) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    let Some(render) = &state.metrics else {
        return elsewhere(State(state), request).await;
    };
    let (head, _) = request.into_parts();
    let mut response = match admit(&state, &head, "metrics").await {
        Ok(_) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], render()).into_response(),
        Err(refused) => refused,
    };
    add_page_headers(response.headers_mut());
    response
}
