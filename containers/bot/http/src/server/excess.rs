//! The answers to a caller above a limit: 429 if others still have room, else 503.

use ars_wire::ingress::ErrorBody;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use crate::respond;

/// Seconds sent in `Retry-After`.
const RETRY_AFTER_S: &str = "5";

/// The limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// The limit for the caller's peer.
    Peer,
    /// The limit for all callers together.
    All,
}

impl Excess {
    /// Returns the HTTP status.
    fn status(self) -> StatusCode {
        match self {
            Self::Peer => StatusCode::TOO_MANY_REQUESTS,
            Self::All => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the answer. `open` names what is open.
    pub(crate) fn answer(self, open: &str) -> Response {
        let from = match self {
            Self::Peer => " from this address",
            Self::All => "",
        };
        let error = format!("too many {open}{from} are open; try again later");
        let body = ErrorBody {
            error,
            code: None,
            detail: None,
        };
        let mut response = respond::json(self.status(), &body);
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
        response
    }

    /// Returns the response to a connection before the request is read.
    pub(super) fn head(self) -> String {
        let status = self.status();
        let reason = status.canonical_reason().unwrap_or_default();
        format!(
            "HTTP/1.1 {} {reason}\r\nretry-after: {RETRY_AFTER_S}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            status.as_u16()
        )
    }
}
