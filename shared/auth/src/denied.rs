//! Why an actor was refused: bare words for the audit line (bot supplement section 7.2), never shown to the caller
//! as more than a refusal.

/// A refusal, as opposed to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The actor lacks the grant.
    #[error("missing-grant")]
    MissingGrant,
    /// The dashboard without a credential serves this machine only.
    #[error("not-loopback")]
    NotLoopback,
    /// The dashboard without a credential serves local deployments only.
    #[error("public-base-url")]
    PublicBaseUrl,
    /// No credential, or not the right one.
    #[error("bad-credential")]
    BadCredential,
}
