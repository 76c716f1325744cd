//! The name of the API in a conversation.

/// The kind of API to which opaque parts of a conversation belong.
pub(super) const API: &str = "anthropic";
