//! Why a delivery is rejected, and the answer.

use ars_bot_ports::Overload;
use ars_wire::ingress::ErrorBody;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use crate::{respond, server::BodyError, surfaces::ingress::IngressError};

/// Why a delivery is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    Method,
    Disabled,
    TooLarge,
    TooSlow,
    Signature,
    Malformed(&'static str),
    Overloaded(Overload),
    Unavailable,
}

impl From<BodyError> for Rejected {
    fn from(fault: BodyError) -> Self {
        match fault {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::TooSlow => Self::TooSlow,
            BodyError::Broken => Self::Malformed("the body could not be read"),
        }
    }
}

impl Rejected {
    /// Returns the HTTP response.
    pub(super) fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "POST only"),
            Self::Disabled => (StatusCode::SERVICE_UNAVAILABLE, "disabled"),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is larger than 1000000 bytes",
            ),
            Self::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long to arrive",
            ),
            Self::Signature => (
                StatusCode::UNAUTHORIZED,
                "X-Hub-Signature-256 does not sign the body",
            ),
            Self::Malformed(problem) => (StatusCode::BAD_REQUEST, problem),
            Self::Overloaded(overload) => return IngressError::from(overload).into_response(),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable; deliver it again later",
            ),
        };
        let body = ErrorBody {
            error: error.to_owned(),
            code: None,
            detail: None,
        };
        let mut response = respond::json(status, &body);
        if self == Self::Method {
            response
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if matches!(self, Self::TooLarge | Self::TooSlow) {
            response
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
