//! Reasons of a denial, for the audit line. Callers learn only that they were denied.

/// A denial, as opposed to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The actor lacks the grant.
    #[error("missing-grant")]
    MissingGrant,
    /// No row of the policy table covers this action on such a resource.
    #[error("no-rule")]
    NoRule,
    /// The actor is not a member of the channel.
    #[error("not-member")]
    NotMember,
    /// The resource belongs to another user.
    #[error("not-self")]
    NotSelf,
    /// Actors of this kind may not.
    #[error("wrong-kind")]
    WrongKind,
    /// The row covers another agent.
    #[error("wrong-agent")]
    WrongAgent,
    /// The visibility of the origin channel does not permit it.
    #[error("wrong-visibility")]
    WrongVisibility,
    /// The dashboard without a credential serves this machine only.
    #[error("not-loopback")]
    NotLoopback,
    /// The dashboard without a credential serves local deployments only.
    #[error("public-base-url")]
    PublicBaseUrl,
    /// The credential is missing or wrong.
    #[error("bad-credential")]
    BadCredential,
}
