//! The daemon's routes. Every route needs the bearer.

use std::sync::Arc;

use ars_auth::{
    Secret,
    gate::{self, Hashed, Head, Rules},
    strict_bearer,
};
use ars_resident::daemon::{
    CANCEL_PATH, CancelRequest, DISK_PATH, DiskRequest, STATUS_PATH, STEPS_PATH, TRANSFERS_PATH,
};
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{steps, transfers};
use crate::daemon::Daemon;

/// Maximum request size in bytes: the largest file with every character escaped, and room for the
/// step.
const BODY_MAX_BYTES: usize = 8 << 20;

/// State shared by all routes.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) daemon: Arc<Daemon>,
    token: Secret,
}

/// Returns a daemon's routes. `token` is the engine's bearer.
pub fn router(daemon: Arc<Daemon>, token: Secret) -> Router {
    let service = Service { daemon, token };
    Router::new()
        .route(STEPS_PATH, post(steps::steps))
        .route(CANCEL_PATH, post(cancel))
        .route(STATUS_PATH, get(status))
        .route(DISK_PATH, post(disk))
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .route(
            &format!("{TRANSFERS_PATH}/{{backup}}"),
            get(transfers::read)
                .put(transfers::write)
                .delete(transfers::remove),
        )
        .layer(middleware::from_fn_with_state(
            service.clone(),
            authenticate,
        ))
        .with_state(service)
}

async fn authenticate(State(service): State<Service>, request: Request, next: Next) -> Response {
    if is_authorized(&service.token, &request) {
        next.run(request).await
    } else {
        error(StatusCode::UNAUTHORIZED, "unauthorized")
    }
}

fn is_authorized(token: &Secret, request: &Request) -> bool {
    let header = request.headers().get(header::AUTHORIZATION);
    let text = header.and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
    let head = Head {
        presented: text.and_then(strict_bearer),
        ..Head::default()
    };
    gate::admit(&Rules::new(gate::order::DAEMON, &Hashed(token)), &head).is_ok()
}

async fn cancel(State(service): State<Service>, body: Bytes) -> Response {
    match parse::<CancelRequest>(&body) {
        Ok(request) => json(&service.daemon.cancel(request).await),
        Err(rejected) => rejected.into_response(),
    }
}

async fn status(State(service): State<Service>) -> Response {
    json(&service.daemon.status())
}

async fn disk(State(service): State<Service>, body: Bytes) -> Response {
    let request = match parse::<DiskRequest>(&body) {
        Ok(request) => request,
        Err(rejected) => return rejected.into_response(),
    };
    match service.daemon.disk(&request).await {
        Ok(sample) => json(&sample),
        Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, &failure.stderr),
    }
}

/// Parses a body. The error's text names a place in it, never the content.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Rejected> {
    serde_json::from_slice(body).map_err(|problem| {
        let text = format!(
            "invalid request at line {} column {}",
            problem.line(),
            problem.column()
        );
        Rejected {
            status: StatusCode::BAD_REQUEST,
            text,
        }
    })
}

/// A request that is not served.
pub(super) struct Rejected {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl IntoResponse for Rejected {
    fn into_response(self) -> Response {
        error(self.status, &self.text)
    }
}

pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(problem) => error(StatusCode::INTERNAL_SERVER_ERROR, &problem.to_string()),
    }
}

pub(super) fn error(status: StatusCode, text: &str) -> Response {
    let body = serde_json::json!({ "error": text }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
