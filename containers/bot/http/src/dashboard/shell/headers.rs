//! Headers for all run pages.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Allows the page's own files only.
/// `trusted-types 'none'` makes the browser reject `innerHTML` and similar, so that no text becomes markup.
macro_rules! content_policy {
    ($forms:literal) => {
        concat!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; ",
            "base-uri 'none'; form-action ",
            $forms,
            "; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )
    };
}

/// Policy for pages with the form that signs out.
pub(super) const POLICY_WITH_SIGN_OUT: &str = content_policy!("'self'");

/// Headers on every response. The referrer is withheld because a run's address contains its token.
const ALWAYS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, content_policy!("'none'")),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("x-robots-tag"), "noindex, nofollow"),
];

/// Adds the headers.
/// An event stream keeps its own `Cache-Control`, and the sign-in form its own policies.
pub(crate) fn add_page_headers(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
