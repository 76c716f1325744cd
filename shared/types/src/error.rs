//! The error for an invalid name.

/// A name that does not match its pattern, without the rejected text, which may be a pasted secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must {rule}")]
pub struct InvalidName {
    /// The kind of name, such as `run id`.
    pub what: &'static str,
    /// How a valid name looks, phrased to follow "must".
    pub rule: &'static str,
}
