//! Command route errors. Each body has a text and a code.

use ars_auth::Denied;
use ars_bot_core::commands::Failure;
use ars_bot_ports::{Overload, texts};
use ars_commands::InvalidInput;
use ars_types::UnixMillis;
use ars_wire::{ErrorCode, ingress::ErrorBody};
use axum::{
    http::{HeaderValue, header},
    response::Response,
};

use super::serve;
use crate::{respond, server::BodyError};

/// Text for a request from another site's page.
pub(super) const OTHER_SITE: &str = "the request comes from another site";

/// The reason for which a request has no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    code: ErrorCode,
    /// For the caller. Names fields, never their values.
    message: String,
    /// The route's methods, if the method was wrong.
    allow: Option<&'static str>,
    /// Seconds until the caller may try again.
    wait_s: Option<UnixMillis>,
}

impl ApiError {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            allow: None,
            wait_s: None,
        }
    }

    /// Returns the error for a method that is not in `allow`.
    pub(super) fn method(allow: &'static str) -> Self {
        let error = Self::new(
            ErrorCode::MethodNotAllowed,
            format!("the method must be {allow}"),
        );
        Self {
            allow: Some(allow),
            ..error
        }
    }

    /// Returns the error for a caller that the gate rejected. The reason is logged and not sent.
    pub(super) fn gate(reason: &Denied) -> Self {
        tracing::info!(route = "api", %reason, "viewer refused");
        match reason {
            Denied::CrossOrigin => Self::new(ErrorCode::ForbiddenOrigin, OTHER_SITE),
            Denied::TooManyAttempts { wait_s } => Self {
                wait_s: Some(*wait_s),
                ..Self::new(ErrorCode::Forbidden, "forbidden")
            },
            _ => Self::new(ErrorCode::Forbidden, "forbidden"),
        }
    }

    /// Returns the error with another text.
    pub(super) fn with_text(self, text: &str) -> Self {
        Self {
            message: text.to_owned(),
            ..self
        }
    }

    /// Returns the HTTP response.
    pub(super) fn into_response(self) -> Response {
        let Self {
            code,
            message,
            allow,
            wait_s,
        } = self;
        let body = ErrorBody {
            error: message,
            code: Some(code),
            detail: None,
        };
        let mut response = serve::with_headers(respond::json(respond::status_of(code), &body));
        if let Some(allow) = allow {
            response
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(wait_s) = wait_s {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(wait_s));
        }
        // The rest of the body was not read, so the connection cannot carry another request.
        if matches!(code, ErrorCode::PayloadTooLarge | ErrorCode::RequestTimeout) {
            response
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<Overload> for ApiError {
    fn from(overload: Overload) -> Self {
        let error = Self::new(overload.error_code(), texts::overload(overload));
        Self {
            wait_s: Some(overload.wait_s().into()),
            ..error
        }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self::new(failure.code, failure.message)
    }
}

impl From<InvalidInput> for ApiError {
    fn from(error: InvalidInput) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::new(
                ErrorCode::PayloadTooLarge,
                "the body is larger than 1000000 bytes",
            ),
            BodyError::TooSlow => Self::new(
                ErrorCode::RequestTimeout,
                "the body took too long to arrive",
            ),
            BodyError::Broken => Self::new(ErrorCode::InvalidInput, "the body could not be read"),
        }
    }
}
