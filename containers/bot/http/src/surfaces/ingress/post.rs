//! `POST /ingress`: gate, body, dispatch, and the response when the run ends or is created.

use std::sync::Arc;

use ars_auth::{Actor, Ingress, Rejection};
use ars_bot_ports::IncomingMessage;
use ars_types::{RunId, ThreadKey};
use ars_wire::ingress::{Accepted, RESPOND_ASYNC};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use tokio::task::{JoinError, JoinHandle};

use super::{
    body::{self, Body},
    channel::HttpChannel,
    error::IngressError,
    first_requests::FirstRequests,
    idempotency,
    message::message,
};
use crate::{
    auth::gate::{DASHBOARDS_TOKEN, admit, has_dashboards_token, limited},
    respond,
    server::{MAX_BODY_BYTES, read_body},
    state::HttpState,
};

/// The header with the caller's preferences.
const PREFER: &str = "prefer";

/// Every method arrives here, because the gate's first check is the method.
pub(super) async fn post(
    State(state): State<HttpState>,
    Extension(first): Extension<Arc<FirstRequests>>,
    request: Request,
) -> Response {
    serve(&state, &first, request)
        .await
        .unwrap_or_else(IngressError::into_response)
}

async fn serve(
    state: &HttpState,
    first: &Arc<FirstRequests>,
    request: Request,
) -> Result<Response, IngressError> {
    let (head, stream) = request.into_parts();
    let entry = limited(state, &head, || {
        admit(&head.method, &head.headers, &state.tokens)
    });
    let entry = entry.map_err(|rejection| match rejection {
        Rejection::Unauthenticated if has_dashboards_token(state, &head) => {
            IngressError::OtherGate(DASHBOARDS_TOKEN)
        }
        rejection => rejection.into(),
    })?;
    state.count(&Actor::service(Ingress::Http, entry).id)?;
    let key = idempotency::key(&head.headers)?;
    let bytes = read_body(stream, MAX_BODY_BYTES).await?;
    let Body {
        address,
        history,
        is_async,
    } = body::parse(&bytes).map_err(IngressError::BadBody)?;
    let is_async = is_async || prefers_async(&head.headers);
    address
        .check_open(entry, &state.tokens)
        .map_err(IngressError::BadBody)?;
    let message = message(Ingress::Http, entry, address, state.core.clock().now());
    let io = Arc::new(HttpChannel::new(history).asynchronous(is_async));
    if let Some(key) = key {
        let key = idempotency::of_request(key, &entry.subject, &message.thread_key, &bytes);
        drop(bytes);
        return idempotency::serve(state, first, key, message, io, is_async).await;
    }
    drop(bytes);
    let thread_key = message.thread_key.clone();
    let started = io.started();
    let dispatched = dispatch(state, message, &io);
    if !is_async {
        return collected(dispatched.await, &io);
    }
    tokio::select! {
        // If both are ready, the run was created first.
        biased;
        run = started => Ok(accepted(state, run, &thread_key)),
        ended = dispatched => collected(ended, &io),
    }
}

/// Returns whether the caller prefers an answer at the run's creation, maybe among others.
fn prefers_async(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(PREFER)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split([',', ';']));
    preferences.any(|preference| preference.trim().eq_ignore_ascii_case(RESPOND_ASYNC))
}

/// Dispatches in a separate task, so that the run continues when the caller disconnects.
pub(crate) fn dispatch(
    state: &HttpState,
    message: IncomingMessage,
    io: &Arc<HttpChannel>,
) -> JoinHandle<()> {
    let core = state.core.clone();
    let io: Arc<HttpChannel> = Arc::clone(io);
    tokio::spawn(async move { core.dispatch(message, io).await })
}

fn collected(ended: Result<(), JoinError>, io: &HttpChannel) -> Result<Response, IngressError> {
    match ended {
        Ok(()) => answered(io),
        Err(error) => {
            tracing::error!(error = %error, "dispatch threw outside its own handling");
            Err(IngressError::Internal)
        }
    }
}

/// Returns the response when a dispatch ends.
pub(super) fn answered(io: &HttpChannel) -> Result<Response, IngressError> {
    // Checked last: an unauthorized or malformed request gets its own error during a drain too.
    if io.is_rejected_by_shutdown() {
        return Err(IngressError::Draining);
    }
    if let Some(overload) = io.overload() {
        return Err(overload.into());
    }
    Ok(respond::json(StatusCode::OK, &io.collected()))
}

/// Returns the response when a run is created.
pub(super) fn accepted(state: &HttpState, run: RunId, thread_key: &ThreadKey) -> Response {
    let run_url = state.core.settings().run_url(&run);
    let body = Accepted {
        run_id: run,
        run_url,
        thread_key: thread_key.to_string(),
    };
    respond::json(StatusCode::ACCEPTED, &body)
}
