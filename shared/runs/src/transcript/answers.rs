//! Answers without content.

/// Response to most verbs.
pub(super) const OK: &str = r#"{"ok":true}"#;
