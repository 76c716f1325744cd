//! `POST /admin/restart/authorize`: whether a subject may restart the bot.
//!
//! The edge names the subject that it has authenticated, and strips that header from every other request. With the
//! header the subject alone is judged, without it the bearer. The edge performs the restart.

use ars_auth::Rejection;
use ars_wire::admin::{Authorized, SUBJECT_HEADER, subject_of};
use axum::{
    extract::State,
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};

use crate::{auth::admin, respond, state::HttpState};

/// Answers the edge.
pub(crate) async fn authorize(
    State(state): State<HttpState>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    match decide(&state, &method, &headers) {
        Ok(subject) => respond::json(StatusCode::OK, &Authorized::of(subject)),
        Err(rejection) => {
            tracing::info!(route = "admin/restart/authorize", reason = %rejection, "rejected");
            admin::reject(rejection)
        }
    }
}

fn decide(state: &HttpState, method: &Method, headers: &HeaderMap) -> Result<String, Rejection> {
    let mut values = headers.get_all(SUBJECT_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => admin::by_bearer(state, method, headers),
        (Some(value), None) => admin::by_subject(state, method, subject_of(value.as_bytes()).as_deref()),
        // The edge sends one value.
        (Some(_), Some(_)) => admin::by_subject(state, method, None),
    }
}
