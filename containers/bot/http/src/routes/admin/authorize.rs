//! `POST /admin/restart/authorize`: whether somebody may restart the bot (bot supplement 20.2).
//!
//! The edge names whom it has authenticated, and strips that header from everything else, so the subject alone is
//! judged; without it the bearer is. The answer changes nothing here: the edge restarts.

use ars_wire::admin::{Authorized, SUBJECT_HEADER, subject_of};
use axum::{
    extract::State,
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};

use super::caller::{self, Refusal};
use crate::{respond, state::HttpState};

/// Answers the edge.
pub(crate) async fn authorize(
    State(state): State<HttpState>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    match decide(&state, &method, &headers) {
        Ok(subject) => respond::json(StatusCode::OK, &Authorized::of(subject)),
        Err(refusal) => {
            tracing::info!(route = "admin/restart/authorize", reason = %refusal, "refused");
            refusal.into_response()
        }
    }
}

fn decide(state: &HttpState, method: &Method, headers: &HeaderMap) -> Result<String, Refusal> {
    caller::open(state, method)?;
    let mut named = headers.get_all(SUBJECT_HEADER).iter();
    match (named.next(), named.next()) {
        (None, _) => caller::by_bearer(state, headers),
        (Some(subject), None) => {
            let subject = subject_of(subject.as_bytes()).ok_or(Refusal::Unauthorized)?;
            caller::by_subject(state, &subject)
        }
        // The edge names one.
        (Some(_), Some(_)) => Err(Refusal::Unauthorized),
    }
}
