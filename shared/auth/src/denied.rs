//! Why an actor was refused: bare words for the audit line (bot supplement section 7.2), never shown to the caller
//! as more than a refusal.

/// A refusal, as opposed to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The actor lacks the grant.
    #[error("missing-grant")]
    MissingGrant,
    /// No row of the policy table speaks of this action on such a resource.
    #[error("no-rule")]
    NoRule,
    /// The actor is not a member of the channel.
    #[error("not-member")]
    NotMember,
    /// It is somebody else's.
    #[error("not-self")]
    NotSelf,
    /// Actors of this kind may not.
    #[error("wrong-kind")]
    WrongKind,
    /// The row is about another agent.
    #[error("wrong-agent")]
    WrongAgent,
    /// The channel it comes from is not open enough.
    #[error("wrong-visibility")]
    WrongVisibility,
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
