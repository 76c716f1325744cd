//! `GET /metrics`: the metrics for Prometheus, if the installation serves them (docs/logging.md).
//!
//! Behind the dashboard gate, because the edge exposes the port and load and cost are private. Where metrics are off,
//! the path has no route. Not here: the measurements.

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};

use super::absent::{elsewhere, gated};
use crate::{respond, state::HttpState};

/// Media type for the text format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers with the metrics, or like a path without a route.
pub(super) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    let Some(render) = &state.metrics else {
        return elsewhere(State(state), request).await;
    };
    let text = |_: &_| respond::with_type(StatusCode::OK, CONTENT_TYPE, render());
    gated(&state, request, "metrics", text).await
}
