//! Who may use an admin route: method, tokens, bearer, grant, in this order (bot supplement 20.2).

use ars_auth::{Actor, Ingress, TokenEntry, bearer, grants::granted};
use ars_wire::admin::{ACTION, Failed};
use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};

use crate::{respond, state::HttpState};

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Not a POST.
    #[error("POST only")]
    Method,
    /// No token is configured: the route is off, never open.
    #[error("disabled")]
    Disabled,
    /// Nobody, or nobody known.
    #[error("unauthorized")]
    Unauthorized,
    /// Somebody known, who may not.
    #[error("deploy:write is missing")]
    Forbidden,
}

impl Refusal {
    /// The answer.
    pub(super) fn into_response(self) -> Response {
        let status = match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Disabled => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
        };
        let mut response = respond::json(status, &Failed::of(self.to_string()));
        if self == Self::Method {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

/// The questions before anybody is known.
pub(super) fn open(state: &HttpState, method: &Method) -> Result<(), Refusal> {
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    if state.tokens.is_empty() {
        return Err(Refusal::Disabled);
    }
    Ok(())
}

/// The subject of the bearer, if its token may.
pub(super) fn by_bearer(state: &HttpState, headers: &HeaderMap) -> Result<String, Refusal> {
    let presented = bearer(headers.get_all(header::AUTHORIZATION)).ok_or(Refusal::Unauthorized)?;
    let entry = state.tokens.authenticate(presented).ok_or(Refusal::Unauthorized)?;
    if may(state, entry) { Ok(entry.subject.clone()) } else { Err(Refusal::Forbidden) }
}

/// The subject itself, if it may. Which of its tokens was shown is not known here, so each of them must.
pub(super) fn by_subject(state: &HttpState, subject: &str) -> Result<String, Refusal> {
    let mut known = state.tokens.entries_of(subject).map(|entry| may(state, entry)).peekable();
    let allowed = known.peek().is_some() && known.all(|may| may);
    if allowed { Ok(subject.to_owned()) } else { Err(Refusal::Forbidden) }
}

fn may(state: &HttpState, entry: &TokenEntry) -> bool {
    let actor = granted(&Actor::service(Ingress::Http, entry), &state.core.settings().grants);
    actor.grants.actions.contains(ACTION)
}
