//! The headers of all run pages.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

/// Allows the page's own files only. `trusted-types 'none'` makes the browser reject `innerHTML` and similar, so that
/// no text becomes markup.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// Headers of every answer. The referrer is withheld because a run's address contains its token.
const ALWAYS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("x-robots-tag"), "noindex, nofollow"),
];

/// Adds the headers.
pub(crate) async fn pages(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    add_page_headers(response.headers_mut());
    response
}

/// Adds the headers. An event stream keeps its own `Cache-Control`, and the sign-in form its own policies.
pub(crate) fn add_page_headers(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
