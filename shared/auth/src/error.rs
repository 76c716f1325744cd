//! Errors in permissions, credentials and their configuration.

use ars_types::UnixMillis;
use ars_wire::ErrorCode;

/// A denial, as opposed to a failure: the reason is for the audit line, never for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The actor lacks the grant.
    #[error("missing-grant")]
    MissingGrant,
    /// No row in the policy table covers this action on such a resource.
    #[error("no-rule")]
    NoRule,
    /// The actor is not a channel member.
    #[error("not-member")]
    NotMember,
    /// The resource belongs to another user.
    #[error("not-self")]
    NotSelf,
    /// This kind of actor may not do it.
    #[error("wrong-kind")]
    WrongKind,
    /// The row covers another agent.
    #[error("wrong-agent")]
    WrongAgent,
    /// The origin channel's visibility does not permit it.
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
    /// The peer presented too many wrong credentials.
    #[error("too-many-attempts")]
    TooManyAttempts {
        /// Seconds until the next attempt is compared.
        wait_s: UnixMillis,
    },
    /// The dashboard without a credential does not serve requests that a proxy forwarded.
    #[error("forwarded")]
    Forwarded,
    /// A service token is for the command routes only.
    #[error("service-token")]
    ServiceToken,
    /// The access proxy's keys could not be read.
    #[error("no-keys")]
    NoKeys,
    /// A page from another site sent the session's cookie.
    #[error("cross-origin")]
    CrossOrigin,
}

/// The check that a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The route does not exist.
    #[error("not found")]
    NotFound,
    /// The method is not the route's.
    #[error("method not allowed")]
    Method,
    /// The surface has no credentials and is therefore off.
    #[error("disabled")]
    Disabled,
    /// The bearer is missing, malformed or unknown.
    #[error("unauthorized")]
    Unauthenticated,
    /// The peer presented too many wrong bearers.
    #[error("too many wrong credentials")]
    TooManyAttempts {
        /// Seconds until the next attempt is compared.
        wait_s: UnixMillis,
    },
    /// The holder lacks the permission.
    #[error("forbidden")]
    Forbidden,
    /// The length is missing or not numeric.
    #[error("a numeric Content-Length is needed")]
    LengthRequired,
    /// The declared length exceeds the limit.
    #[error("the body may have at most {max_body_bytes} bytes")]
    TooLarge {
        /// The limit, in bytes.
        max_body_bytes: usize,
    },
}

impl Rejection {
    /// Returns the error code.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::Method => ErrorCode::MethodNotAllowed,
            Self::Disabled => ErrorCode::Disabled,
            Self::Unauthenticated => ErrorCode::Unauthenticated,
            Self::TooManyAttempts { .. } => ErrorCode::RateLimited,
            Self::Forbidden => ErrorCode::Unauthorized,
            Self::LengthRequired => ErrorCode::LengthRequired,
            Self::TooLarge { .. } => ErrorCode::PayloadTooLarge,
        }
    }
}

/// Why an entry is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// It names an actor that no surface has.
    #[error("an actor must be `<namespace>:<id>` with one of slack, http, mcp, access, schedule")]
    Unknown,
    /// The star does not stand for a whole namespace.
    #[error("a `*` may only stand alone, after `slack:`, `http:`, `mcp:` or `access:`")]
    Star,
}

/// Why a person is invalid. Names an account by its index, never by its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PersonFault {
    /// The number of accounts is out of range.
    #[error("must list 2 to {max} accounts")]
    Count {
        /// The maximum.
        max: usize,
    },
    /// The account is not a person's.
    #[error(
        "must be an id after `slack:`, `access:`, `http:` (which covers `mcp:`) or `cli:`, without `*` and not of a service"
    )]
    Account(usize),
    /// The account is listed before.
    #[error("is listed before: an account belongs to one person")]
    Repeated(usize),
}

impl PersonFault {
    /// Returns the account's index, if a single account is at fault.
    pub const fn index(self) -> Option<usize> {
        match self {
            Self::Count { .. } => None,
            Self::Account(index) | Self::Repeated(index) => Some(index),
        }
    }
}

/// Why a row is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableFault {
    /// A row names no action.
    #[error("row {0} of the policy table names no action")]
    NoAction(usize),
    /// A row has no condition; open rows use
    /// [`Condition::Always`](crate::policy::Condition::Always).
    #[error("row {0} of the policy table has no condition")]
    NoCondition(usize),
    /// A condition requires an attribute that the resource does not have.
    #[error("row {0} of the policy table looks at an attribute that its resource lacks")]
    LacksAttribute(usize),
}

/// Why an entry in the token map was skipped. It names the field, never a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// The token is empty.
    #[error("its token must not be blank")]
    Token,
    /// The value is no object.
    #[error("its value must be an object")]
    Shape,
    /// The subject is missing or malformed.
    #[error("`subject` must be a text that is not empty, and not `github`")]
    Subject,
    /// The channel is malformed.
    #[error("`channel` must have 1 to 100 characters without `:`")]
    Channel,
    /// The scopes are malformed.
    #[error("`scopes` must be a list of texts that are not empty")]
    Scopes,
}

/// Why a whole value was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeFault {
    /// It does not parse.
    #[error("not valid JSON")]
    NotJson,
    /// It is another kind of JSON.
    #[error("a JSON {0} instead of an object")]
    NotAnObject(&'static str),
}
