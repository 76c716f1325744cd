//! A request that arrived.

use axum::http::HeaderMap;

/// A request, with the whole body.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Received {
    /// Returns a header's text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
