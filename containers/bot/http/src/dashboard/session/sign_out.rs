//! `POST /runs/sign-out`: ends the session in the browser.
//!
//! Every page's header has the button. The service stores no session, so a copied cookie stays
//! valid until it expires or the secret changes.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::sign_in::{SIGN_IN, configured, without_form};
use crate::{
    auth::{
        is_same_origin, is_withheld,
        session::{end_cookie, has_session},
    },
    respond,
    state::HttpState,
};

/// Route for signing out.
pub(crate) const SIGN_OUT: &str = "/runs/sign-out";

/// Removes the cookie and leads to the form.
pub(crate) async fn leave(State(state): State<HttpState>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let Some((secret, actor)) = configured(&state) else {
        return without_form(&state, &head).await;
    };
    // `SameSite` withholds the cookie from other sites' forms, so a session shows that no other
    // site sent this form.
    let is_own = is_same_origin(
        &head.headers,
        state.core.settings().public_base_url.as_deref(),
    ) || (is_withheld(&head.headers)
        && has_session(&head.headers, secret, actor, state.core.clock().now()));
    if !is_own {
        tracing::info!(reason = "cross-origin", "sign-out refused");
        return respond::plain(StatusCode::FORBIDDEN, "Forbidden\n");
    }
    let mut response = respond::plain(StatusCode::SEE_OTHER, "Signed out\n");
    response
        .headers_mut()
        .insert(header::LOCATION, HeaderValue::from_static(SIGN_IN));
    if let Ok(cookie) = HeaderValue::from_str(&end_cookie()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
