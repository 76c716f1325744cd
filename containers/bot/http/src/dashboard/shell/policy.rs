//! Middleware that adds the run pages' headers.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};

use super::headers::{POLICY_WITH_SIGN_OUT, add_page_headers};
use crate::{Dashboard, state::HttpState};

/// Adds the headers. Only pages in mode `token` have a form, which signs out.
pub(crate) async fn page_headers(
    State(state): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    add_headers(&state, &mut response);
    response
}

/// Adds a page's headers to a response.
pub(crate) fn add_headers(state: &HttpState, response: &mut Response) {
    if matches!(&*state.dashboard, Dashboard::Token { .. }) {
        let policy = HeaderValue::from_static(POLICY_WITH_SIGN_OUT);
        response
            .headers_mut()
            .entry(header::CONTENT_SECURITY_POLICY)
            .or_insert(policy);
    }
    add_page_headers(response.headers_mut());
}
