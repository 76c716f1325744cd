//! `POST /admin/restart/authorize`: whether a subject may restart the bot.
//!
//! The edge names the subject that it has authenticated, and proves itself by the secret that it
//! gave to the container. With both headers only the subject is judged. Without a subject the
//! bearer is. A subject without the proof is answered like an unknown route, so a bot without an
//! edge does not reveal who may restart it. The edge performs the restart.

use ars_auth::Rejection;
use ars_wire::admin::{Authorized, EDGE_SECRET_HEADER, SUBJECT_HEADER, subject_of};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};

use crate::{auth::admin, respond, state::HttpState};

/// Answers the edge's request.
pub(crate) async fn authorize(State(state): State<HttpState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if head.headers.contains_key(SUBJECT_HEADER) && !is_of_edge(&state, &head.headers) {
        return respond::no_such_route().await;
    }
    match decide(&state, &head) {
        Ok(subject) => respond::json(StatusCode::OK, &Authorized::new(subject)),
        Err(rejection) => {
            tracing::info!(route = "admin/restart/authorize", reason = %rejection, "rejected");
            admin::reject(rejection)
        }
    }
}

/// Returns whether the edge that started this process sent the request.
fn is_of_edge(state: &HttpState, headers: &HeaderMap) -> bool {
    let mut presented = headers.get_all(EDGE_SECRET_HEADER).iter();
    match (&state.edge_secret, presented.next(), presented.next()) {
        (Some(secret), Some(presented), None) => secret.matches_digest(presented.as_bytes()),
        _ => false,
    }
}

fn decide(state: &HttpState, head: &Parts) -> Result<String, Rejection> {
    let Parts {
        method, headers, ..
    } = head;
    let mut values = headers.get_all(SUBJECT_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => admin::by_bearer(state, head),
        (Some(value), None) => {
            admin::by_subject(state, method, subject_of(value.as_bytes()).as_deref())
        }
        // The edge sends a single value.
        (Some(_), Some(_)) => admin::by_subject(state, method, None),
    }
}
