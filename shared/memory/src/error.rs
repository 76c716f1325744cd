//! The error for a missing memory key.

use crate::Scope;

/// Reason for a missing key. Never contains the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The request has no value for the scope, for example no repository.
    #[error("there is no {} to remember for", .0.as_str())]
    Missing(Scope),
    /// The value cannot be part of a key.
    #[error("the name of this {} cannot be part of a key", .0.as_str())]
    Invalid(Scope),
}
