//! The dashboard's gate as middleware, and its answer to refused viewers.
//!
//! Not here: who is admitted (`auth::viewer`).

use ars_auth::{Actor, Denied, Viewer};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};

use super::session;
use crate::{
    auth::viewer::{Area, Dashboard, authenticate},
    respond,
    state::HttpState,
};

/// Adds the viewer to the request, or answers 403.
pub(super) async fn gate(State(state): State<HttpState>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match admit(&state, &head, "runs").await {
        Ok(actor) => {
            head.extensions.insert(Viewer::new(actor.clone()));
            head.extensions.insert(actor);
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => refused,
    }
}

/// Returns the caller with all grants, or the 403. `route` is for the log.
pub(super) async fn admit(
    state: &HttpState,
    head: &Parts,
    route: &'static str,
) -> Result<Actor, Response> {
    let admitted = authenticate(state, head, Area::Pages).await;
    admitted.map_err(|reason| {
        tracing::info!(route, %reason, "viewer refused");
        if let Denied::TooManyAttempts { wait_s } = reason {
            let mut response = respond::plain(StatusCode::FORBIDDEN, "Forbidden\n");
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
            return response;
        }
        let has_form = matches!(&*state.dashboard, Dashboard::Token { .. });
        if has_form && is_browser(&head.method, &head.headers) {
            return session::refused(&head.uri);
        }
        respond::plain(StatusCode::FORBIDDEN, "Forbidden\n")
    })
}

/// Returns whether a person's browser asks for a page.
pub(super) fn is_browser(method: &Method, headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    method == Method::GET
        && accepted
            .split(',')
            .any(|range| range.split(';').next().unwrap_or_default().trim() == "text/html")
}
