//! Answers without content.

/// Response to most owner writes.
pub(super) const OK: &str = r#"{"ok":true}"#;
/// Response about a run that is not live, on routes that need no generation.
pub(super) const NOT_LIVE: &str = r#"{"ok":false}"#;
