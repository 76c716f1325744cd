//! The API's name in a conversation.

/// The API kind to which opaque conversation parts belong.
pub(super) const API: &str = "anthropic";
