//! `/runs/sign-in`: exchanges the secret, from a form or an address, for a session's cookie.
//!
//! Not here: the cookie (`auth::session`) and the gate (`dashboard::gate`).

use ars_auth::{Secret, dashboard::by_token};
use ars_types::UnixMillis;
use askama::Template;
use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, Uri, header, request::Parts},
    response::Response,
};

use crate::{
    auth::{is_own, is_same_origin, session::set_cookie, viewer::Dashboard},
    dashboard::{gate, shell},
    params, respond,
    server::{Peer, read_body},
    state::HttpState,
};

/// Route for the sign-in form.
pub(crate) const SIGN_IN: &str = "/runs/sign-in";
/// Route for the form's styles: the pages' styles are behind the gate.
pub(crate) const STYLE: &str = "/runs/sign-in/style.css";
/// Route for the form's script.
pub(crate) const SCRIPT: &str = "/runs/sign-in/script.js";

/// The problem when the form has a wrong token.
const INVALID: &str = "This token is not valid.";
/// The problem when an address has a wrong token, which an earlier start may have printed.
const EXPIRED: &str =
    "This address is not valid any more. Open the one that the last start of the service printed.";

/// The page after the form if no other is named.
const HOME: &str = "/runs";
/// Maximum form size in bytes.
const MAX_FORM_BYTES: usize = 16_384;
/// Longest address to which the form leads.
const MAX_NEXT_CHARS: usize = 2_048;
/// The page's policy: as for all pages, but the form may be sent.
const CSP: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);
/// With no referrer at all a browser sends `Origin: null`, which is not the service's own origin.
const REFERRER_POLICY: HeaderValue = HeaderValue::from_static("same-origin");

/// The page with the form.
#[derive(Template)]
#[template(path = "sign-in.html")]
struct SignIn<'a> {
    next: &'a str,
    problem: Option<&'static str>,
}

/// Answers with the form, or signs in with the token in the address.
pub(crate) async fn form(State(state): State<HttpState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let Some((secret, actor)) = configured(&state) else {
        return without_form(&state, &head).await;
    };
    let next = params::query(&head.uri, "next").unwrap_or_default();
    let Some(token) = params::query(&head.uri, "token") else {
        return page(StatusCode::OK, &next, None);
    };
    // Another site's guesses would use up the attempts of this browser's peer.
    if !is_own(
        &head.headers,
        state.core.settings().public_base_url.as_deref(),
    ) {
        tracing::info!(reason = "cross-origin", "sign-in refused");
        return page(StatusCode::FORBIDDEN, &next, None);
    }
    exchange(
        &state,
        &head,
        (secret, actor),
        &Attempt {
            token: &token,
            next: &next,
            problem: EXPIRED,
        },
    )
}

/// Answers a correct secret with a session and the wanted page.
pub(crate) async fn submit(State(state): State<HttpState>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Some((secret, actor)) = configured(&state) else {
        return without_form(&state, &head).await;
    };
    let public_base_url = state.core.settings().public_base_url.as_deref();
    if !is_same_origin(&head.headers, public_base_url) {
        tracing::info!(reason = "cross-origin", "sign-in refused");
        return respond::plain(StatusCode::FORBIDDEN, "Forbidden\n");
    }
    let Ok(body) = read_body(body, MAX_FORM_BYTES).await else {
        return page(
            StatusCode::BAD_REQUEST,
            HOME,
            Some("The form could not be read. Try again."),
        );
    };
    let field = |name: &str| {
        let mut fields = form_urlencoded::parse(&body);
        fields
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let attempt = &Attempt {
        token: &field("token"),
        next: &field("next"),
        problem: INVALID,
    };
    exchange(&state, &head, (secret, actor), attempt)
}

/// An attempt to sign in.
struct Attempt<'a> {
    token: &'a str,
    next: &'a str,
    /// The answer to a wrong token.
    problem: &'static str,
}

/// Answers a correct token with a session and the wanted page, without the token in the address.
fn exchange(
    state: &HttpState,
    head: &Parts,
    (secret, actor): (&Secret, &str),
    attempt: &Attempt<'_>,
) -> Response {
    let now = state.core.clock().now();
    let peer = Peer::of_request(head, state.peer_header.as_ref());
    if let Err(wait) = state.sign_ins.begin(peer, now) {
        tracing::warn!("sign-in refused: too many failed attempts");
        return too_many(wait);
    }
    if by_token(Some(attempt.token), secret, actor).is_err() {
        tracing::info!(reason = "bad-credential", "sign-in refused");
        return page(StatusCode::FORBIDDEN, attempt.next, Some(attempt.problem));
    }
    state.sign_ins.succeeded(peer);
    tracing::info!(viewer = actor, "signed in");
    let public_base_url = state.core.settings().public_base_url.as_deref();
    let is_https =
        public_base_url.is_some_and(|url| url.trim().to_ascii_lowercase().starts_with("https:"));
    let cookie = set_cookie(secret, actor, now, is_https);
    let mut response = respond::plain(StatusCode::SEE_OTHER, "Signed in\n");
    let location =
        HeaderValue::from_str(local(attempt.next)).unwrap_or(HeaderValue::from_static(HOME));
    response.headers_mut().insert(header::LOCATION, location);
    response.headers_mut().insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Answers with the form that asks to wait.
fn too_many(seconds: UnixMillis) -> Response {
    let problem = "Too many sign-ins failed. Wait a minute and try again.";
    let mut response = page(StatusCode::TOO_MANY_REQUESTS, HOME, Some(problem));
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Answers with the pages' styles.
pub(crate) async fn style() -> Response {
    let text = include_str!("../../../assets/style.css");
    respond::with_type(StatusCode::OK, "text/css; charset=utf-8", text)
}

/// Answers with the script that forgets the previous viewer's messages.
pub(crate) async fn script() -> Response {
    let text = include_str!("../../../assets/sign-in.js");
    respond::with_type(StatusCode::OK, "text/javascript; charset=utf-8", text)
}

/// Returns the 403 for a page without a credential: the form, which leads back to the page.
pub(crate) fn refused(uri: &Uri) -> Response {
    let next = uri
        .path_and_query()
        .map(|path| path.as_str())
        .unwrap_or_default();
    let mut response = page(StatusCode::FORBIDDEN, next, None);
    shell::add_page_headers(response.headers_mut());
    response
}

pub(super) fn configured(state: &HttpState) -> Option<(&Secret, &str)> {
    match &*state.dashboard {
        Dashboard::Token { secret, actor } => Some((secret, actor)),
        Dashboard::Loopback | Dashboard::Access(_) => None,
    }
}

/// The other modes have no form. The gate answers first, as for every path below `/runs`.
pub(super) async fn without_form(state: &HttpState, head: &Parts) -> Response {
    match gate::admit(state, head, "sign-in").await {
        Ok(_) => respond::not_found(),
        Err(refused) => refused,
    }
}

fn page(status: StatusCode, next: &str, problem: Option<&'static str>) -> Response {
    let Ok(text) = (SignIn {
        next: local(next),
        problem,
    })
    .render() else {
        return respond::plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The page could not be made.\n",
        );
    };
    let mut response = respond::html(text);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, CSP);
    response
        .headers_mut()
        .insert(header::REFERRER_POLICY, REFERRER_POLICY);
    response
}

/// Returns a path on this service, so that the form leads to no other site.
fn local(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    let is_plain =
        next.len() <= MAX_NEXT_CHARS && next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if is_path && is_plain && !next.starts_with(SIGN_IN) {
        next
    } else {
        HOME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_leads_to_own_paths_only() {
        for next in ["/runs/a?t=b", "/runs", "/costs/main?days=3"] {
            assert_eq!(local(next), next);
        }
        let long = format!("/{}", "a".repeat(MAX_NEXT_CHARS));
        for next in [
            "",
            "runs",
            "//evil.example.com",
            "/\\evil.example.com",
            "https://evil.example.com",
            "/a\r\nb",
            "/é",
        ] {
            assert_eq!(local(next), HOME, "{next:?}");
        }
        assert_eq!((local(&long), local("/runs/sign-in?next=/x")), (HOME, HOME));
    }
}
