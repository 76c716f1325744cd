//! The error of an invalid name.

/// A name that does not match its pattern, without the rejected text, which may be a pasted secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must {rule}")]
pub struct InvalidName {
    /// Kind of name, such as `run id`.
    pub what: &'static str,
    /// Form of a valid name, phrased to follow "must".
    pub rule: &'static str,
}
