//! The ingress gate: who is refused, with what, and in which order (document 1 sections 4.1 and 7.1).
//!
//! The checks that need no body are one function; the body is read only for whom it lets in. What the body must
//! hold is `routes::ingress::body`.

use ars_auth::{
    TokenEntry, TokenMap, bearer,
    gate::{self, Head, Rejection, Rules, order},
};
use ars_wire::{ErrorCode, ingress::ErrorBody};
use axum::{
    http::{HeaderMap, HeaderValue, Method, header},
    response::Response,
};

use crate::{body::BodyFault, respond};

/// The scope that lets a token start runs (document 1 section 2.2).
const DISPATCH_SCOPE: &str = "dispatch";

/// Seconds until it is worth asking again in a drain (document 2 section 8). It may end at once or last its deadline; the
/// next process is up a few seconds later.
const NEXT_PROCESS_S: &str = "5";

/// The reason for which a request has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A check before the body failed.
    Gate(Rejection),
    /// The body exceeds the limit.
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The body is malformed. The text names the field, never its value.
    BadBody(String),
    /// The process is shutting down and accepted no part of the request. The next process will.
    Draining,
    /// The core failed outside its own error handling.
    Internal,
}

/// Runs the checks before the body and returns the token's entry.
pub(crate) fn admit<'t>(
    method: &'t Method,
    headers: &'t HeaderMap,
    tokens: &'t TokenMap,
) -> Result<&'t TokenEntry, Rejection> {
    let rules = Rules::new(order::INGRESS, tokens).with_scope(&may_dispatch);
    let presented = bearer(headers.get_all(header::AUTHORIZATION));
    let head = Head { method: method.as_str(), presented, content_length: None };
    gate::admit(&rules, &head).map(|admitted| admitted.holder)
}

fn may_dispatch(entry: &TokenEntry) -> bool {
    entry.has_scope(DISPATCH_SCOPE)
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Gate(rejection)
    }
}

impl From<BodyFault> for Refusal {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::TooLarge => Self::TooLarge,
            BodyFault::TooSlow => Self::TooSlow,
            BodyFault::Broken => Self::BadBody("the body could not be read".into()),
        }
    }
}

impl Refusal {
    /// Returns the error code.
    fn code(&self) -> ErrorCode {
        match self {
            Self::Gate(rejection) => rejection.code(),
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::TooSlow => ErrorCode::RequestTimeout,
            Self::BadBody(_) => ErrorCode::InvalidInput,
            Self::Draining => ErrorCode::Unavailable,
            Self::Internal => ErrorCode::Internal,
        }
    }

    /// The answer (bot supplement section 2).
    pub(crate) fn into_response(self) -> Response {
        let (error, detail) = match &self {
            Self::Gate(Rejection::Method) => ("POST only".to_owned(), None),
            Self::Gate(Rejection::Disabled) => {
                ("disabled".to_owned(), Some("set SERVICE_INGRESS_TOKENS to enable this endpoint"))
            }
            Self::Gate(rejection) => (rejection.to_string(), None),
            Self::TooLarge => ("the body is larger than 1000000 bytes".to_owned(), None),
            Self::TooSlow => ("the body took too long to arrive".to_owned(), None),
            Self::BadBody(text) => (text.clone(), None),
            Self::Draining => {
                let detail = "the service is being restarted and took nothing of this request; try again";
                ("unavailable".to_owned(), Some(detail))
            }
            Self::Internal => ("internal error".to_owned(), None),
        };
        let code = self.code();
        // The other bodies carry no code: their status is enough, and the contract fixes their bytes.
        let shown = matches!(self, Self::Gate(Rejection::Forbidden) | Self::Draining).then_some(code);
        let body = ErrorBody { error, code: shown, detail: detail.map(str::to_owned) };
        let mut response = respond::json(respond::status_of(code), &body);
        match self {
            Self::Gate(Rejection::Method) => {
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            // The rest of the body is not wanted, so the connection cannot carry another request.
            Self::TooLarge | Self::TooSlow => {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Draining => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(NEXT_PROCESS_S));
            }
            Self::Gate(_) | Self::BadBody(_) | Self::Internal => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = r#"{"good":{"subject":"ann"},"reader":{"subject":"bo","scopes":["runs:read"]}}"#;

    fn admitted(method: &Method, authorization: &[&str], tokens: &str) -> Result<String, Rejection> {
        let mut headers = HeaderMap::new();
        for value in authorization {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        let tokens = TokenMap::parse(Some(tokens)).map;
        admit(method, &headers, &tokens).map(|entry| entry.subject.clone())
    }

    #[test]
    fn every_check_hides_the_ones_after_it() {
        let (get, post) = (Method::GET, Method::POST);
        let none: &[&str] = &[];
        for (method, authorization, tokens, expected) in [
            (&get, none, "", Err(Rejection::Method)),
            (&get, &["Bearer good"], TOKENS, Err(Rejection::Method)),
            (&Method::OPTIONS, none, TOKENS, Err(Rejection::Method)),
            (&post, none, "", Err(Rejection::Disabled)),
            (&post, &["Bearer good"], "", Err(Rejection::Disabled)),
            (&post, &["Bearer good"], "[]", Err(Rejection::Disabled)),
            (&post, &["Bearer good"], "{\"good\":{}}", Err(Rejection::Disabled)),
            (&post, none, TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Bearer nope"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Bearer goo"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Basic good"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["good"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Bearer"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Basic x", "Bearer good"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Bearer reader"], TOKENS, Err(Rejection::Forbidden)),
            (&post, &["Bearer good"], TOKENS, Ok("ann".to_owned())),
            (&post, &["bEARER   good  "], TOKENS, Ok("ann".to_owned())),
            (&post, &["Bearer good", "Bearer nope"], TOKENS, Ok("ann".to_owned())),
        ] {
            assert_eq!(
                admitted(method, authorization, tokens),
                expected,
                "{method} {authorization:?} {tokens}"
            );
        }
    }
}
