//! Ingress errors and their responses.

use ars_auth::{Rejection, Surface};
use ars_bot_ports::{Overload, texts};
use ars_wire::{ErrorCode, ingress::ErrorBody};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use crate::{respond, server::BodyError};

/// `Retry-After` value during a drain. A drain lasts at most the deadline, and the next process
/// starts within seconds.
const NEXT_PROCESS_S: &str = "5";

/// The reason for which a request has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IngressError {
    /// A check before the body failed.
    Gate(Rejection),
    /// The bearer belongs to another gate, which the text names.
    OtherGate(&'static str),
    /// The body exceeds the limit.
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The body is malformed. The text names the field, never the value.
    BadBody(String),
    /// An earlier request with the same `Idempotency-Key` had another body.
    KeyReused,
    /// The request with this `Idempotency-Key` was answered, and the answer is no longer kept.
    AnswerGone,
    /// The ledger did not answer whether the `Idempotency-Key` is new, or how the run ended.
    Unavailable,
    /// A limit on requests or runs is reached.
    Overloaded(Overload),
    /// The process is shutting down and accepted no part of the request. The next process will.
    Draining,
    /// The core failed outside its own error handling.
    Internal,
}

impl From<Rejection> for IngressError {
    fn from(rejection: Rejection) -> Self {
        Self::Gate(rejection)
    }
}

impl From<Overload> for IngressError {
    fn from(overload: Overload) -> Self {
        Self::Overloaded(overload)
    }
}

impl From<BodyError> for IngressError {
    fn from(fault: BodyError) -> Self {
        match fault {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::TooSlow => Self::TooSlow,
            BodyError::Broken => Self::BadBody("the body could not be read".into()),
        }
    }
}

impl IngressError {
    /// Returns the status. The key header's draft fixes 422 for another body.
    fn status(&self) -> StatusCode {
        match self {
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            other => respond::status_of(other.code()),
        }
    }

    /// Returns the error code.
    fn code(&self) -> ErrorCode {
        match self {
            Self::Gate(rejection) => rejection.code(),
            Self::OtherGate(_) => Rejection::Unauthenticated.code(),
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::TooSlow => ErrorCode::RequestTimeout,
            Self::BadBody(_) | Self::KeyReused => ErrorCode::InvalidInput,
            Self::AnswerGone => ErrorCode::Conflict,
            Self::Overloaded(overload) => overload.error_code(),
            Self::Draining | Self::Unavailable => ErrorCode::Unavailable,
            Self::Internal => ErrorCode::Internal,
        }
    }

    /// Returns the HTTP response.
    pub(crate) fn into_response(self) -> Response {
        let (error, detail) = match &self {
            Self::Gate(rejection) => return respond::rejected(Surface::Ingress, *rejection),
            Self::OtherGate(text) => {
                let detail = Some((*text).to_owned());
                let body = ErrorBody {
                    error: "unauthorized".to_owned(),
                    code: None,
                    detail,
                };
                return respond::rejected_with(Surface::Ingress, Rejection::Unauthenticated, &body);
            }
            Self::TooLarge => ("the body is larger than 1000000 bytes".to_owned(), None),
            Self::TooSlow => ("the body took too long to arrive".to_owned(), None),
            Self::BadBody(text) => (text.clone(), None),
            Self::KeyReused => (
                "Idempotency-Key was used by an earlier request with another body".to_owned(),
                None,
            ),
            Self::AnswerGone => (
                "Idempotency-Key names a request whose answer is no longer kept".to_owned(),
                None,
            ),
            Self::Unavailable => {
                let detail = "the Idempotency-Key could not be looked up; try again";
                ("unavailable".to_owned(), Some(detail))
            }
            Self::Overloaded(overload) => (texts::overload(*overload), None),
            Self::Draining => {
                let detail =
                    "the service is being restarted and did not start this request; try again";
                ("unavailable".to_owned(), Some(detail))
            }
            Self::Internal => ("internal error".to_owned(), None),
        };
        let code = self.code();
        // The other bodies carry no code: their status is enough, and the contract fixes their bytes.
        let is_coded = matches!(
            self,
            Self::Overloaded(_) | Self::Draining | Self::Unavailable
        );
        let shown = is_coded.then_some(code);
        let body = ErrorBody {
            error,
            code: shown,
            detail: detail.map(str::to_owned),
        };
        let mut response = respond::json(self.status(), &body);
        match self {
            // The rest of the body is not wanted, so the connection cannot carry another request.
            Self::TooLarge | Self::TooSlow => {
                response
                    .headers_mut()
                    .insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Overloaded(overload) => {
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, HeaderValue::from(overload.wait_s()));
            }
            Self::Draining | Self::Unavailable => {
                response.headers_mut().insert(
                    header::RETRY_AFTER,
                    HeaderValue::from_static(NEXT_PROCESS_S),
                );
            }
            Self::Gate(_)
            | Self::OtherGate(_)
            | Self::BadBody(_)
            | Self::KeyReused
            | Self::AnswerGone
            | Self::Internal => {}
        }
        response
    }
}
