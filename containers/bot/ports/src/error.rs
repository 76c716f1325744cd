//! The ports' error types.

use std::time::Duration;

/// A failed store request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store: {message}")]
pub struct StoreError {
    /// The failure kind, which decides about retries.
    pub kind: StoreErrorKind,
    /// Text for logs only.
    pub message: String,
}

impl StoreError {
    /// Returns a failure that another attempt may repair.
    pub fn transient(message: impl Into<String>) -> Self {
        Self {
            kind: StoreErrorKind::Transient,
            message: message.into(),
        }
    }
}

/// Failure classes that decide about retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store does not have the route, as in an older deploy. Never retried.
    RouteMissing,
    /// 5xx, 408, 429 or a network failure. Retried.
    Transient,
    /// 400 or 413: the store rejects the request, and would reject a retry.
    Refused,
    /// Anything else, such as an unknown bearer or an unreadable answer.
    /// An immediate retry changes nothing.
    Permanent,
}

/// The requester could not be reached.
#[derive(Debug, thiserror::Error)]
#[error("reply not delivered: {0}")]
pub struct ReplyError(pub String);

/// A file of an earlier message that its channel could not read again. Text for logs only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("attachment not read: {0}")]
pub struct AttachmentError(pub String);

/// A model whose provider is not configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model's provider is not configured. The providers are: {known}.")]
pub struct UnknownProvider {
    /// The configured providers, for the requester.
    pub known: String,
}

/// A model call that failed permanently.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ModelError {
    /// The failure kind, which decides the reaction.
    pub kind: ModelErrorKind,
    /// A message that is safe to show: never a key, never a header.
    pub message: String,
}

/// Failure kinds, by the possible reaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelErrorKind {
    /// The provider is overloaded.
    #[error("model overloaded")]
    Overloaded {
        /// The wait the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The key's quota is used up for now.
    #[error("model rate limit")]
    RateLimited {
        /// The wait the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The key is missing or rejected.
    #[error("model credentials refused")]
    Unauthorized,
    /// The provider rejects the request.
    #[error("model request refused")]
    Invalid,
    /// The conversation no longer fits the model's window.
    #[error("context too long")]
    ContextTooLong,
    /// The provider rejects an image or document in the conversation.
    #[error("file refused")]
    FileRejected,
    /// The connection failed or broke.
    #[error("model unreachable")]
    Unreachable,
    /// The provider answered with its own error.
    #[error("model failed")]
    Failed,
    /// The provider broke the protocol, or ended the stream early.
    #[error("model protocol error")]
    Protocol,
    /// The run was stopped.
    #[error("cancelled")]
    Cancelled,
}

impl ModelErrorKind {
    /// Returns whether the provider is overloaded or limits the request rate.
    pub const fn is_overload(&self) -> bool {
        matches!(self, Self::Overloaded { .. } | Self::RateLimited { .. })
    }
}

/// Why a fetch or search failed. No variant carries the remote side's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// Not an absolute http or https URL, or a URL with credentials.
    #[error("`url` must be an absolute http or https URL without a user name or password")]
    Url,
    /// The host is private, local or reserved by name, literal address, or resolved address.
    #[error(
        "the address is not on the public internet; private, local and reserved addresses are refused"
    )]
    Forbidden,
    /// Nothing is fetched, because commands have no network either.
    #[error("nothing is fetched here, because `sandbox.network` is \"none\"")]
    NoNetwork,
    /// Fetching is turned off.
    #[error("nothing is fetched here, because `web.hosts` is \"none\"")]
    NoHosts,
    /// The host is not on the run's list.
    #[error("{0} is not on the list of hosts of this run; an operator can add it to `web.allow`")]
    Unlisted(String),
    /// A redirect led to a rejected URL.
    #[error("a redirect was refused: {0}")]
    Redirect(Box<WebError>),
    /// There were too many redirects.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// The name has no address.
    #[error("the host name could not be resolved")]
    Unresolved,
    /// The connection failed or broke.
    #[error("the host could not be reached or broke the connection off")]
    Unreachable,
    /// The fetch exceeded the time limit.
    #[error("no full answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// An image or document exceeded the limit.
    #[error("the body is larger than {0} bytes and is refused, not cut")]
    TooLarge(usize),
    /// The body's compression was not requested or is corrupt.
    #[error("the body's content encoding cannot be read")]
    Encoding,
    /// No search service is configured.
    #[error("web search is not configured")]
    NotConfigured,
    /// The search service rejected the query or failed, with this status.
    #[error("the search service answered with status {0}")]
    Search(u16),
    /// The search service's answer could not be parsed.
    #[error("the search service's answer could not be read")]
    SearchAnswer,
    /// The access proxy did not answer with keys, but with this status.
    #[error("the access proxy answered with status {0}")]
    Keys(u16),
    /// The run was stopped.
    #[error("stopped")]
    Cancelled,
}

/// The reason for a failed workspace operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The path leaves the workspace, or is not a valid relative path.
    #[error("path `{0}` is outside the workspace")]
    PathEscape(String),
    /// There is no such file.
    #[error("no such file: {0}")]
    NotFound(String),
    /// The model's request is invalid (a directory, a bad pattern).
    #[error("{0}")]
    Refused(String),
    /// The repository could not be cloned or the ref does not exist. The text is safe to show.
    #[error("{0}")]
    Clone(String),
    /// No sandbox is free, which is a capacity limit and no failure.
    #[error("no sandbox is free now; go on without one, or try again later")]
    Busy,
    /// The run was stopped.
    #[error("cancelled")]
    Cancelled,
    /// The workspace failed: infrastructure, not the command.
    #[error("workspace failed: {0}")]
    Infra(String),
}

/// Why a source has no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read.
    #[error("the source cannot be read: {0}")]
    Unreadable(String),
    /// It is larger than the limit.
    #[error("the source must have at most {max_bytes} bytes")]
    TooLarge {
        /// The size limit in bytes.
        max_bytes: u64,
    },
}
