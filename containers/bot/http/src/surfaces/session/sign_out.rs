//! `POST /runs/sign-out`: ends the session in its browser.
//!
//! The service stores no session, so a copy of the cookie stays valid until it expires or the secret changes.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::sign_in::{SIGN_IN, configured, without_form};
use crate::{
    auth::session::{end_cookie, is_same_origin},
    respond,
    state::HttpState,
};

/// The route.
pub(crate) const SIGN_OUT: &str = "/runs/sign-out";

/// Removes the cookie and leads to the form.
pub(crate) async fn leave(State(state): State<HttpState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    if configured(&state).is_none() {
        return without_form(&state, &head).await;
    }
    if !is_same_origin(&head.headers, state.core.settings().public_base_url.as_deref()) {
        tracing::info!(reason = "cross-origin", "sign-out refused");
        return respond::plain(StatusCode::FORBIDDEN, "Forbidden\n");
    }
    let mut response = respond::plain(StatusCode::SEE_OTHER, "Signed out\n");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(SIGN_IN));
    if let Ok(cookie) = HeaderValue::from_str(&end_cookie()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
