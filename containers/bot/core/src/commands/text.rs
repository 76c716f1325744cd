//! Fixed texts of failures.

/// Of a command that the caller may not invoke.
pub(super) const DENIED: &str = "you do not have permission to do this";
/// Of a command that does not exist here.
pub(super) const UNKNOWN: &str = "there is no such command";
/// Of a fault of the service.
pub(super) const INTERNAL: &str = "internal error";
