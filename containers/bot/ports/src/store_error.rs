//! What a store's client says when there is no answer (document 2 section 7).

/// A store that did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store: {message}")]
pub struct StoreError {
    /// What a retry would do.
    pub kind: StoreErrorKind,
    /// For logs.
    pub message: String,
}

/// Classes of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store does not have the route: an older deploy. Never retried.
    RouteMissing,
    /// 5xx, 408, 429, network: retried.
    Transient,
    /// 400 or 413: what was sent is refused, and would be again.
    Refused,
    /// Anything else, such as an unknown bearer or an answer that cannot be read: retrying at once changes nothing.
    Permanent,
}
