//! Fixed failure texts.

/// For a command that the caller may not invoke.
pub(super) const DENIED: &str = "you do not have permission to do this";
/// For a command that does not exist here.
pub(super) const UNKNOWN: &str = "there is no such command";
/// For a command that a hard stop interrupted.
pub(super) const STOPPED: &str = "it was stopped; changes that it made before remain";
/// For a service fault.
pub(super) const INTERNAL: &str = "internal error";
