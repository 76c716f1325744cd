//! Ingress and MCP gates, before the body is read.

use ars_auth::{
    Rejection, TokenEntry, TokenMap, bearer,
    dashboard::by_token,
    gate::{self, Check, Head, Rules, order},
};
use axum::http::{HeaderMap, Method, header, request::Parts};

use super::{attempts::Attempts, viewer::Dashboard};
use crate::{server::Peer, state::HttpState};

/// The scope that lets a token start runs.
const DISPATCH_SCOPE: &str = "dispatch";

/// Runs a gate's checks, and limits a peer's wrong bearers.
///
/// A caller that was admitted within the last hour is not limited.
pub(crate) fn limited<T>(
    state: &HttpState,
    head: &Parts,
    check: impl FnOnce() -> Result<T, Rejection>,
) -> Result<T, Rejection> {
    if bearer(head.headers.get_all(header::AUTHORIZATION)).is_none() {
        return check();
    }
    let (peer, now) = (
        Peer::of_request(head, state.peer_header.as_ref()),
        state.core.clock().now(),
    );
    let attempt = state.callers.begin(peer, now);
    let checked = check();
    match (&checked, attempt) {
        // These concern no credential, and precede it.
        (Err(Rejection::NotFound | Rejection::Method | Rejection::Disabled), Ok(())) => {
            state.callers.succeeded(peer);
        }
        (Err(Rejection::NotFound | Rejection::Method | Rejection::Disabled), Err(_)) => {}
        (_, Err(wait_s)) => return Err(Rejection::TooManyAttempts { wait_s }),
        (Err(Rejection::Unauthenticated), Ok(())) => {}
        (_, Ok(())) => state.callers.prove(peer, now),
    }
    checked
}

/// The text for a caller with the dashboard's token.
/// It tells a stranger nothing, because the caller has that token.
pub(crate) const DASHBOARDS_TOKEN: &str = "this is the token of the dashboard and of /api; this route takes one of SERVICE_INGRESS_TOKENS";

/// Returns whether a caller presents the dashboard's token. Each other bearer is an attempt at that
/// token too, so this gate's tokens give no free guesses at it.
pub(crate) fn has_dashboards_token(state: &HttpState, head: &Parts) -> bool {
    let Dashboard::Token { secret, actor } = &*state.dashboard else {
        return false;
    };
    is_other_gates(state, head, &state.bearers, |token| {
        by_token(Some(token), secret, actor).is_ok()
    })
}

/// Returns whether a caller presents an ingress token to the dashboard. Each other bearer is an
/// attempt at those tokens too. In mode `access` nothing counts bearers, so there is no answer.
pub(crate) fn has_ingress_token(state: &HttpState, head: &Parts) -> bool {
    matches!(&*state.dashboard, Dashboard::Token { .. })
        && is_other_gates(state, head, &state.callers, |token| {
            state.tokens.authenticate(token).is_some()
        })
}

/// Compares the bearer with another gate's tokens, within that gate's failure limit.
fn is_other_gates(
    state: &HttpState,
    head: &Parts,
    attempts: &Attempts,
    is_token: impl FnOnce(&str) -> bool,
) -> bool {
    let Some(token) = bearer(head.headers.get_all(header::AUTHORIZATION)) else {
        return false;
    };
    let peer = Peer::of_request(head, state.peer_header.as_ref());
    if attempts.begin(peer, state.core.clock().now()).is_err() || !is_token(token) {
        return false;
    }
    attempts.succeeded(peer);
    true
}

/// Runs the ingress checks before the body and returns the token's entry.
pub(crate) fn admit<'t>(
    method: &'t Method,
    headers: &'t HeaderMap,
    tokens: &'t TokenMap,
) -> Result<&'t TokenEntry, Rejection> {
    by_order(order::INGRESS, method, headers, tokens)
}

/// Runs MCP's checks before the body and returns the token's entry, which may lack the dispatch scope.
pub(crate) fn identify<'t>(
    method: &'t Method,
    headers: &'t HeaderMap,
    tokens: &'t TokenMap,
) -> Result<&'t TokenEntry, Rejection> {
    by_order(order::MCP, method, headers, tokens)
}

fn by_order<'t>(
    order: &'static [Check],
    method: &'t Method,
    headers: &'t HeaderMap,
    tokens: &'t TokenMap,
) -> Result<&'t TokenEntry, Rejection> {
    let rules = Rules::new(order, tokens).with_scope(&may_dispatch);
    let presented = bearer(headers.get_all(header::AUTHORIZATION));
    let head = Head {
        method: method.as_str(),
        presented,
        content_length: None,
    };
    gate::admit(&rules, &head).map(|admitted| admitted.holder)
}

/// Returns whether a token may start runs.
pub(crate) fn may_dispatch(entry: &TokenEntry) -> bool {
    entry.has_scope(DISPATCH_SCOPE)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKENS: &str =
        r#"{"good":{"subject":"ann"},"reader":{"subject":"bo","scopes":["runs:read"]}}"#;

    fn admitted(
        method: &Method,
        authorization: &[&str],
        tokens: &str,
    ) -> Result<String, Rejection> {
        let mut headers = HeaderMap::new();
        for value in authorization {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        let tokens = TokenMap::parse(Some(tokens)).map;
        admit(method, &headers, &tokens).map(|entry| entry.subject.clone())
    }

    #[test]
    fn first_failing_check_rejects() {
        let (get, post) = (Method::GET, Method::POST);
        let none: &[&str] = &[];
        for (method, authorization, tokens, expected) in [
            (&get, none, "", Err(Rejection::Method)),
            (&get, &["Bearer good"], TOKENS, Err(Rejection::Method)),
            (&Method::OPTIONS, none, TOKENS, Err(Rejection::Method)),
            (&post, none, "", Err(Rejection::Disabled)),
            (&post, &["Bearer good"], "", Err(Rejection::Disabled)),
            (&post, &["Bearer good"], "[]", Err(Rejection::Disabled)),
            (
                &post,
                &["Bearer good"],
                "{\"good\":{}}",
                Err(Rejection::Disabled),
            ),
            (&post, none, TOKENS, Err(Rejection::Unauthenticated)),
            (
                &post,
                &["Bearer nope"],
                TOKENS,
                Err(Rejection::Unauthenticated),
            ),
            (
                &post,
                &["Bearer goo"],
                TOKENS,
                Err(Rejection::Unauthenticated),
            ),
            (
                &post,
                &["Basic good"],
                TOKENS,
                Err(Rejection::Unauthenticated),
            ),
            (&post, &["good"], TOKENS, Err(Rejection::Unauthenticated)),
            (&post, &["Bearer"], TOKENS, Err(Rejection::Unauthenticated)),
            (
                &post,
                &["Basic x", "Bearer good"],
                TOKENS,
                Err(Rejection::Unauthenticated),
            ),
            (&post, &["Bearer reader"], TOKENS, Err(Rejection::Forbidden)),
            (&post, &["Bearer good"], TOKENS, Ok("ann".to_owned())),
            (&post, &["bEARER   good  "], TOKENS, Ok("ann".to_owned())),
            (
                &post,
                &["Bearer good", "Bearer nope"],
                TOKENS,
                Ok("ann".to_owned()),
            ),
        ] {
            assert_eq!(
                admitted(method, authorization, tokens),
                expected,
                "{method} {authorization:?} {tokens}"
            );
        }
    }
}
