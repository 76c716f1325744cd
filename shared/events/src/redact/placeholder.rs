//! The text in place of a secret.

/// Replaces a secret. It matches no shape and no name of a secret, so redaction is idempotent.
pub const PLACEHOLDER: &str = "[redacted]";
