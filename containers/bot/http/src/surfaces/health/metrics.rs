//! `GET /metrics`: the metrics for Prometheus, if the installation serves them (docs/logging.md).
//!
//! Behind the dashboard gate, because the edge exposes the port and load and cost are private. Where metrics are off,
//! the path has no route. Not here: the measurements.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use super::fallback;
use crate::{
    auth::viewer::{self, Area},
    state::HttpState,
    surfaces::runs,
};

/// Media type for the text format.
const CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Answers with the metrics, or like a path without a route.
pub(crate) async fn metrics(State(state): State<HttpState>, request: Request) -> Response {
    match &state.metrics {
        Some(render) => {
            let (head, _) = request.into_parts();
            let mut response = match viewer::admit(&state, &head, Area::Pages, "metrics").await {
                Ok(_) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], render()).into_response(),
                Err(refused) => refused,
            };
            runs::add_page_headers(response.headers_mut());
            response
        }
        None => fallback::fallback(State(state), request)
            .await
            .into_response(),
    }
}
