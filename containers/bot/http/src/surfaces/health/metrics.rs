//! `GET /metrics`: what Prometheus reads, where the installation wants it (docs/logging.md).
//!
//! Behind the dashboard's gate, because behind the edge the port is the internet's: how much runs, and what it costs, is
//! nobody else's. Where it is off, the path belongs to nobody. Not here: what is measured.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::fallback;
use crate::{auth::viewer, state::HttpState};

/// The text format's own media type.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The metrics, or what any path of nobody answers.
pub(crate) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    match &state.metrics {
        Some(render) => {
            if let Some(refused) = viewer::metrics_refusal(&state, &request) {
                return refused;
            }
            let headers = [
                (header::CONTENT_TYPE, CONTENT_TYPE),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (headers, render()).into_response()
        }
        None => fallback::fallback(State(state), request).await.into_response(),
    }
}
