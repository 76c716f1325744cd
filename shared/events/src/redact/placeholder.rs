//! The text that replaces a secret.

/// Replaces a secret. It matches neither a shape nor a secret's name, so redaction is idempotent.
pub const PLACEHOLDER: &str = "[redacted]";
