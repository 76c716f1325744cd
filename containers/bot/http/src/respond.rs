//! Response forms: JSON, plain text, HTML.

use ars_auth::{Rejected, Rejection, Surface};
use ars_wire::{ErrorCode, ingress::ErrorBody};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;

/// Returns a JSON answer.
pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => with_type(status, "application/json", bytes),
        // Bodies are plain data with string keys, so this is a bug.
        Err(error) => {
            tracing::error!(error = %error, "answer has no JSON form");
            with_type(
                StatusCode::INTERNAL_SERVER_ERROR,
                "application/json",
                r#"{"error":"internal error"}"#,
            )
        }
    }
}

/// Returns a surface's response to a request that the gate rejected. The edge sends the same bytes.
pub(crate) fn rejected(surface: Surface, rejection: Rejection) -> Response {
    let Rejected {
        status,
        body,
        header: required,
    } = surface.rejected(rejection);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = with_type(status, "application/json", body);
    if let Some((name, value)) = required {
        response.headers_mut().insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    if let Rejection::TooManyAttempts { wait_s } = rejection {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
    }
    response
}

/// Returns the same answer with a body that says more.
pub(crate) fn rejected_with(
    surface: Surface,
    rejection: Rejection,
    body: &impl Serialize,
) -> Response {
    let mut response = rejected(surface, rejection);
    if let Ok(bytes) = serde_json::to_vec(body) {
        *response.body_mut() = Body::from(bytes);
    }
    response
}

/// Returns a JSON error with a code.
pub(crate) fn coded(code: ErrorCode, error: &str) -> Response {
    json(
        status_of(code),
        &ErrorBody {
            error: error.into(),
            code: Some(code),
            detail: None,
        },
    )
}

/// Answers a path below a surface that has no such route.
pub(crate) async fn no_such_route() -> Response {
    coded(ErrorCode::NotFound, "no such route")
}

/// Returns a code's HTTP status.
pub(crate) fn status_of(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns a plain text response.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response {
    with_type(status, "text/plain; charset=utf-8", text)
}

/// Returns the same bytes for an unknown, unfinished or unreadable run, to hide whether it exists.
pub(crate) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "Not found\n")
}

/// Returns a redirect to a path on this service.
pub(crate) fn see_other(path: &str) -> Response {
    let mut response = plain(StatusCode::SEE_OTHER, "See other\n");
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

/// Returns an HTML page.
pub(crate) fn html(text: String) -> Response {
    with_type(StatusCode::OK, "text/html; charset=utf-8", text)
}

/// Returns a body with a media type.
pub(crate) fn with_type(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Body>,
) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
