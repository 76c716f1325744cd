//! Why the core rejects a request, and notices to a requester, as values.
//!
//! A refusal names the error code, which fixes HTTP status, JSON-RPC code and exit code
//! (`ars_wire`). Not here: the texts, which the channel renders (`texts`).

use ars_wire::ErrorCode;

use super::{UnknownProvider, WorkspaceError};

/// Why a request is rejected, or the run ends before the first model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The process shuts down.
    ShuttingDown,
    /// The message holds directives only.
    EmptyRequest,
    /// A directive names no valid value.
    InvalidDirective(DirectiveFault),
    /// The configured or chosen agent does not exist.
    UnknownAgent {
        /// Lists every agent name.
        known: String,
    },
    /// The requester lacks the grant for the agent.
    AgentForbidden {
        /// Name of the agent.
        agent: String,
    },
    /// Neither the request nor the configuration names a model.
    NoModel,
    /// The model's provider is not configured.
    UnknownProvider(UnknownProvider),
    /// The named repository is unknown, or none is named where it is needed.
    Repository {
        /// Whether the request names a repository.
        is_named: bool,
        /// Lists every configured repository.
        known: Vec<String>,
    },
    /// The residents do not answer, so it is open whether the request names this repository.
    RepositoryUndetermined {
        /// Name of the repository.
        repository: String,
    },
    /// The requester lacks the grant for the repository.
    RepositoryForbidden,
    /// The working tree could not be opened.
    WorkspaceNotReady(WorkspaceError),
    /// The thread's live run prevents it.
    ThreadOccupied(ThreadRefusal),
    /// The day's spend cannot be determined.
    SpendUnknown,
    /// The day's budget is spent.
    BudgetSpent {
        /// The cap in millionths of a dollar.
        cap: u64,
    },
    /// Live runs have reserved the rest of the day's budget.
    BudgetReserved {
        /// The cap in millionths of a dollar.
        cap: u64,
    },
    /// The store rejects the run's facts, such as a name that is too long.
    NotRecordable,
    /// The run could not be created.
    NotStarted,
    /// A limit on requests or runs is reached.
    Overloaded(Overload),
}

/// A limit that a request exceeds. A later request may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overload {
    /// The caller's requests in a minute.
    Rate {
        /// The limit per minute.
        limit: u32,
        /// Seconds until the next request is accepted.
        wait_s: u32,
    },
    /// The caller's live runs.
    OwnRuns {
        /// The limit per caller.
        limit: u32,
    },
    /// All callers' live runs together.
    Runs {
        /// The limit per process.
        limit: u32,
    },
    /// The caller's runs that wait for a slot.
    OwnQueue {
        /// The limit per caller.
        limit: u32,
    },
    /// All callers' waiting runs together.
    Queue {
        /// The limit per process.
        limit: u32,
    },
    /// A live run's unread follow-ups.
    FollowUps {
        /// The maximum number unread.
        limit: u32,
    },
    /// A live run's unread follow-ups in bytes.
    FollowUpBytes {
        /// The maximum in bytes.
        limit: u32,
    },
    /// The files of all requests in bytes.
    Files {
        /// The limit per process.
        limit: u32,
    },
}

/// Seconds after which a request that exceeds a limit on runs or follow-ups is worth another attempt.
const RETRY_INTERVAL_S: u32 = 15;

impl Overload {
    /// Returns the seconds after which another attempt may succeed.
    pub const fn wait_s(self) -> u32 {
        match self {
            Self::Rate { wait_s, .. } => wait_s,
            _ => RETRY_INTERVAL_S,
        }
    }

    /// Returns the code: the caller's own limit, or the service's.
    pub const fn error_code(self) -> ErrorCode {
        match self {
            Self::Runs { .. } | Self::Queue { .. } | Self::Files { .. } => ErrorCode::Unavailable,
            _ => ErrorCode::RateLimited,
        }
    }

    /// Returns the limit's setting name, which is the metric label too. The limit on files is fixed
    /// and has a label only.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Rate { .. } => "requestsPerMinute",
            Self::OwnRuns { .. } => "runsPerCaller",
            Self::Runs { .. } => "runs",
            Self::OwnQueue { .. } => "queuedRunsPerCaller",
            Self::Queue { .. } => "queuedRuns",
            Self::FollowUps { .. } => "followUps",
            Self::FollowUpBytes { .. } => "followUpBytes",
            Self::Files { .. } => "files",
        }
    }
}

impl From<Overload> for Refusal {
    fn from(overload: Overload) -> Self {
        Self::Overloaded(overload)
    }
}

/// Why a message on an occupied thread is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadRefusal {
    /// The requester lacks the grant for the live run's agent.
    AgentForbidden {
        /// Name of the agent.
        agent: String,
    },
    /// The requester lacks the grant for the live run's repository.
    RepositoryForbidden {
        /// Name of the agent.
        agent: String,
    },
    /// The request names another agent than the live run's.
    OtherAgent(LiveRunFacts),
    /// The ledger did not confirm a follow-up for another process's run.
    FollowUpUnconfirmed {
        /// Name of the agent.
        agent: String,
    },
    /// Another process's run is ending and no longer reads follow-ups.
    RunEnding {
        /// Name of the agent.
        agent: String,
    },
    /// Another process owns the thread, and that run cannot be read.
    OwnerUnknown,
    /// Other processes owned the thread at each attempt.
    Busy,
}

/// A directive with an invalid value, which is left out because it may be a pasted secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectiveFault {
    /// There is no such agent.
    Agent {
        /// Lists every agent name.
        known: String,
    },
    /// There is no such effort.
    Effort {
        /// Lists every effort name.
        known: String,
    },
    /// The value is too long.
    TooLong {
        /// The directive's key.
        key: &'static str,
        /// The characters that it may have.
        max: usize,
    },
    /// The value is no valid ref name.
    Ref,
}

/// Facts about a thread's live run that a requester may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRunFacts {
    /// Name of the agent.
    pub agent: String,
    /// Seconds since the run claimed the thread.
    pub seconds: i64,
    /// The run page's address, once the run is created.
    pub url: Option<String>,
}

/// A message to a requester that is neither an answer nor a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The message was queued as a follow-up for the thread's live run.
    Steered(LiveRunFacts),
    /// An unread follow-up was dispatched and rejected.
    FollowUpRejected {
        /// Why it was rejected.
        refusal: Refusal,
        /// Text of the message.
        text: String,
    },
    /// The run was stopped before it read the sender's follow-up.
    Stopped,
    /// The run was stopped before it read this follow-up from another process.
    StoppedUnread {
        /// Text of the message.
        text: String,
    },
    /// The follow-up came too late for the run and cannot run in the sender's name.
    TooLate {
        /// Text of the message.
        text: String,
    },
    /// The ingress token of the follow-up's sender is gone.
    TokenRemoved {
        /// Text of the message.
        text: String,
    },
    /// Files of a message that the run's next process could not read again.
    FilesLost {
        /// The files' names.
        names: Vec<String>,
    },
    /// The run's new owner could not be given the follow-up.
    NotRequeued {
        /// Text of the message.
        text: String,
    },
}

impl Refusal {
    /// Returns the error code that fixes the refusal's form on each surface.
    pub fn error_code(&self) -> ErrorCode {
        match self {
            Self::EmptyRequest
            | Self::InvalidDirective(_)
            | Self::UnknownAgent { .. }
            | Self::UnknownProvider(_)
            | Self::NotRecordable
            | Self::Repository { .. } => ErrorCode::InvalidInput,
            Self::AgentForbidden { .. } | Self::RepositoryForbidden => ErrorCode::Unauthorized,
            Self::ThreadOccupied(thread) => thread.error_code(),
            Self::ShuttingDown
            | Self::NoModel
            | Self::WorkspaceNotReady(_)
            | Self::RepositoryUndetermined { .. }
            | Self::SpendUnknown
            | Self::BudgetSpent { .. }
            | Self::BudgetReserved { .. } => ErrorCode::Unavailable,
            Self::NotStarted => ErrorCode::Internal,
            Self::Overloaded(overload) => overload.error_code(),
        }
    }
}

impl ThreadRefusal {
    fn error_code(&self) -> ErrorCode {
        match self {
            Self::AgentForbidden { .. } | Self::RepositoryForbidden { .. } => {
                ErrorCode::Unauthorized
            }
            Self::OtherAgent(_) | Self::RunEnding { .. } | Self::Busy => ErrorCode::Conflict,
            Self::FollowUpUnconfirmed { .. } | Self::OwnerUnknown => ErrorCode::Unavailable,
        }
    }
}

impl From<ThreadRefusal> for Refusal {
    fn from(refusal: ThreadRefusal) -> Self {
        Self::ThreadOccupied(refusal)
    }
}
