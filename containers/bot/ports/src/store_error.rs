//! The error of a store's client.

/// A failed store request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store: {message}")]
pub struct StoreError {
    /// The kind of failure, which decides about retries.
    pub kind: StoreErrorKind,
    /// For logs.
    pub message: String,
}

/// Classes of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store does not have the route, as in an older deploy. Never retried.
    RouteMissing,
    /// 5xx, 408, 429 or a network failure. Retried.
    Transient,
    /// 400 or 413: the store rejects the request, and would reject a retry.
    Refused,
    /// Anything else, such as an unknown bearer or an unreadable answer. An immediate retry changes nothing.
    Permanent,
}
