//! Answers without content.

/// Answer of most verbs.
pub(super) const OK: &str = r#"{"ok":true}"#;
