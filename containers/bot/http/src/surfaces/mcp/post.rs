//! `POST /mcp`: gate, origin, body, and a single JSON-RPC response.

use ars_auth::{Rejection, Surface, TokenEntry};
use ars_wire::{
    ErrorCode,
    mcp::{self, RpcError},
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use serde_json::Value;

use super::{
    envelope::{self, Message},
    methods, origin, progress, stateless, version,
};
use crate::{
    auth::gate::{DASHBOARDS_TOKEN, has_dashboards_token, identify, limited},
    respond,
    server::{BodyError, MAX_BODY_BYTES, read_body},
    state::HttpState,
};

/// Every method arrives here, because the gate's first check is the method.
pub(crate) async fn post(State(state): State<HttpState>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    match limited(&state, &head, || {
        identify(&head.method, &head.headers, &state.tokens)
    }) {
        Ok(entry) => serve(&state, entry, &head, body)
            .await
            .unwrap_or_else(|(code, text)| reject(code, &text)),
        Err(rejection @ Rejection::Unauthenticated) if has_dashboards_token(&state, &head) => {
            let text = format!("unauthorized: {DASHBOARDS_TOKEN}");
            let error = RpcError::of_protocol(ErrorCode::Unauthorized, text);
            respond::rejected_with(
                Surface::Mcp,
                rejection,
                &mcp::Response::new(Value::Null, Err(error)),
            )
        }
        Err(rejection) => respond::rejected(Surface::Mcp, rejection),
    }
}

async fn serve(
    state: &HttpState,
    entry: &TokenEntry,
    head: &Parts,
    body: Body,
) -> Result<Response, (ErrorCode, String)> {
    if origin::is_foreign(
        &head.headers,
        state.core.settings().public_base_url.as_deref(),
    ) {
        return Err((
            ErrorCode::ForbiddenOrigin,
            "the request comes from a page of another origin".into(),
        ));
    }
    let bytes = read_body(body, MAX_BODY_BYTES)
        .await
        .map_err(|error| (code_of(&error), error.to_string()))?;
    let message = envelope::parse(&bytes);
    drop(bytes);
    if stateless::is_stateless(&head.headers, message.as_ref().ok()) {
        let answered = stateless::answer(state, entry, &head.headers, message).await;
        return Ok(answered.unwrap_or_else(accepted));
    }
    version::check(&head.headers, message.as_ref().ok())
        .map_err(|text| (ErrorCode::InvalidRequest, text))?;
    let response = match message {
        Ok(Message::Request(request)) => match progress::token(&head.headers, &request) {
            Some(token) => return Ok(progress::answer(state, entry, request, token)),
            None => methods::answer(state, entry, request).await,
        },
        Ok(Message::Notification) => return Ok(accepted()),
        Err(response) => *response,
    };
    Ok(respond::json(StatusCode::OK, &response))
}

fn code_of(error: &BodyError) -> ErrorCode {
    match error {
        BodyError::TooLarge => ErrorCode::PayloadTooLarge,
        BodyError::TooSlow => ErrorCode::RequestTimeout,
        BodyError::Broken => ErrorCode::InvalidRequest,
    }
}

/// Returns the answer to a notification: it has no response.
fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Returns the response to a request that was rejected before the JSON was read.
fn reject(code: ErrorCode, text: &str) -> Response {
    let body = mcp::Response::new(Value::Null, Err(RpcError::of_protocol(code, text)));
    let mut response = respond::json(respond::status_of(code), &body);
    if matches!(code, ErrorCode::PayloadTooLarge | ErrorCode::RequestTimeout) {
        // The rest of the body is not wanted, so the connection cannot carry another request.
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
