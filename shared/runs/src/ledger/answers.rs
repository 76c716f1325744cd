//! Answers without content.

/// Answer of most owner writes.
pub(super) const OK: &str = r#"{"ok":true}"#;
/// Answer about a run that is not live, of the routes that need no generation.
pub(super) const NOT_LIVE: &str = r#"{"ok":false}"#;
