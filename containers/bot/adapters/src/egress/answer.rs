//! Responses that the proxy sends.

use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{self, HeaderValue},
};

use super::decide::Refused;

/// Error while reading a body.
pub(super) type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// A response with our own text, or with the destination's body.
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, BodyError>>;

/// Why a request is not forwarded.
pub(super) enum Problem {
    Malformed(&'static str),
    Unreachable(String, String),
    Refused(Refused),
}

/// Returns an answer without a body.
pub(super) fn empty_answer() -> Answer {
    Response::new(
        Full::default()
            .map_err(|never| match never {})
            .boxed_unsync(),
    )
}

/// Returns a response with a line of text.
pub(super) fn text_answer(status: StatusCode, text: &str) -> Answer {
    let body = Full::from(format!("ars egress proxy: {text}\n"));
    let mut answer = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    answer
}
