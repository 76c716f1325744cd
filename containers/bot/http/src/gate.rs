//! The ingress gate: who is refused, with what, and in which order (document 1 sections 4.1 and 7.1).
//!
//! The checks that need no body are one function; the body is read only for whom it lets in. What the body must
//! hold is `routes::ingress::body`.

use ars_auth::{TokenEntry, TokenMap, bearer};
use ars_wire::ingress::ErrorBody;
use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};

use crate::{body::BodyFault, respond};

/// The scope that lets a token start runs (document 1 section 2.2).
const DISPATCH_SCOPE: &str = "dispatch";

/// Seconds until it is worth asking again in a drain (document 2 section 8). It may end at once or last its deadline; the
/// next process is up a few seconds later.
const NEXT_PROCESS_S: &str = "5";

/// Why a request was turned away. Every one is the caller's to mend, but for the last two.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not a POST.
    Method,
    /// No token is configured: the endpoint is off, never open.
    Disabled,
    /// The bearer is missing, malformed or unknown.
    Unauthorized,
    /// The token may not start runs.
    Forbidden,
    /// The body is over the cap.
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The body is not what it must be; the text names the field, never its value.
    BadBody(String),
    /// The process is ending and took nothing of the request: the next one will.
    Draining,
    /// The core threw outside its own handling: ours, so nothing of it is told.
    Internal,
}

/// The checks before the body, in the order the specification fixes.
pub(crate) fn admit<'t>(
    method: &Method,
    headers: &HeaderMap,
    tokens: &'t TokenMap,
) -> Result<&'t TokenEntry, Refusal> {
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    if tokens.is_empty() {
        return Err(Refusal::Disabled);
    }
    let presented = bearer(headers.get_all(header::AUTHORIZATION)).ok_or(Refusal::Unauthorized)?;
    let entry = tokens.authenticate(presented).ok_or(Refusal::Unauthorized)?;
    if !entry.has_scope(DISPATCH_SCOPE) {
        return Err(Refusal::Forbidden);
    }
    Ok(entry)
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
    /// The answer (bot supplement section 2).
    pub(crate) fn into_response(self) -> Response {
        let (status, error, code, detail) = match &self {
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "POST only", None, None),
            Self::Disabled => {
                let detail = "set SERVICE_INGRESS_TOKENS to enable this endpoint";
                (StatusCode::SERVICE_UNAVAILABLE, "disabled", None, Some(detail))
            }
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", None, None),
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", Some("unauthorized"), None),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 1000000 bytes", None, None)
            }
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive", None, None),
            Self::BadBody(text) => (StatusCode::BAD_REQUEST, text.as_str(), None, None),
            Self::Draining => {
                let detail = "the service is being restarted and took nothing of this request; try again";
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Some("unavailable"), Some(detail))
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal error", None, None),
        };
        let body = ErrorBody {
            error: error.to_owned(),
            code: code.map(str::to_owned),
            detail: detail.map(str::to_owned),
        };
        let mut response = respond::json(status, &body);
        match self {
            Self::Method => {
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            // The rest of the body is not wanted, so the connection cannot carry another request.
            Self::TooLarge | Self::TooSlow => {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Draining => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(NEXT_PROCESS_S));
            }
            Self::Disabled | Self::Unauthorized | Self::Forbidden | Self::BadBody(_) | Self::Internal => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = r#"{"good":{"subject":"ann"},"reader":{"subject":"bo","scopes":["runs:read"]}}"#;

    fn admitted(method: &Method, authorization: &[&str], tokens: &str) -> Result<String, Refusal> {
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
            (&get, none, "", Err(Refusal::Method)),
            (&get, &["Bearer good"], TOKENS, Err(Refusal::Method)),
            (&Method::OPTIONS, none, TOKENS, Err(Refusal::Method)),
            (&post, none, "", Err(Refusal::Disabled)),
            (&post, &["Bearer good"], "", Err(Refusal::Disabled)),
            (&post, &["Bearer good"], "[]", Err(Refusal::Disabled)),
            (&post, &["Bearer good"], "{\"good\":{}}", Err(Refusal::Disabled)),
            (&post, none, TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Bearer nope"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Bearer goo"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Basic good"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["good"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Bearer"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Basic x", "Bearer good"], TOKENS, Err(Refusal::Unauthorized)),
            (&post, &["Bearer reader"], TOKENS, Err(Refusal::Forbidden)),
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
