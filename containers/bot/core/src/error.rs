//! The core's error types.

use ars_auth::Denied;
use ars_bot_ports::StoreError;
use ars_settings::Fault;
use ars_types::RunStatus;
use ars_wire::ErrorCode;

/// The reason for a failed load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store did not answer in time.
    #[error("the store did not return the overrides in time")]
    Timeout,
    /// The override store failed.
    #[error("the overrides cannot be loaded")]
    Store(#[source] StoreError),
    /// The document is not a valid overrides document.
    #[error("the overrides cannot be read")]
    Malformed(#[source] Fault),
}

/// The reason for a rejected change.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The change is invalid.
    #[error("the change is refused")]
    Refused(#[source] Fault),
    /// The store rejected the change, or the document is invalid.
    #[error("the overrides are unavailable")]
    Unavailable(#[source] LoadError),
    /// Other writers' changes came first, more than once.
    #[error("others are changing the overrides")]
    Conflict,
}

/// The reason for which a query has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The run is unknown or unfinished.
    #[error("not found")]
    NotFound,
    /// The reader lacks the permission, which is the reason on the audit line.
    /// The caller receives the same answer as for an unknown run.
    #[error("not found")]
    Denied(Denied),
    /// The run has ended, so it cannot be stopped.
    #[error("the run has already finished")]
    AlreadyFinished,
    /// The history or the ledger did not answer.
    #[error("the run history is not available right now")]
    Unavailable,
}

impl QueryError {
    /// Returns the error code.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::NotFound | Self::Denied(_) => ErrorCode::NotFound,
            Self::AlreadyFinished => ErrorCode::Conflict,
            Self::Unavailable => ErrorCode::Unavailable,
        }
    }
}

/// Why a run's outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// The run ended, and the record is no longer stored.
    #[error("the run's record is no longer stored")]
    Gone,
    /// The process shuts down before another process's run ends.
    #[error("the process shuts down")]
    ShuttingDown,
    /// The history or the ledger did not answer.
    #[error("the run history is not available right now")]
    Unavailable,
}

/// Why an attempt to resume a reclaimed run ended without a running loop.
#[derive(Debug)]
pub(crate) enum NotResumed {
    /// The stored parts decide how the run ends.
    Decided {
        /// The status of the record.
        status: RunStatus,
        /// Why, for the record.
        reason: String,
    },
    /// The run is closed, because this process cannot resume it.
    Refused(Refused),
    /// A store failed in a way that another attempt may repair.
    Retry(StoreError),
}

impl From<Refused> for NotResumed {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<StoreError> for NotResumed {
    fn from(error: StoreError) -> Self {
        Self::Retry(error)
    }
}

/// Why a reclaimed run cannot be resumed here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The row's meta has another form.
    #[error("the run's description cannot be read: {0}")]
    Meta(#[from] serde_json::Error),
    /// This release lacks the agent.
    #[error("the agent is not known here")]
    Agent,
    /// The model's provider is not configured.
    #[error("the model cannot be called: {0}")]
    Model(String),
    /// The channel cannot be reopened.
    #[error("its channel cannot be reopened")]
    Channel,
    /// The thread has a newer run.
    #[error("the thread has a newer run")]
    Thread,
    /// The disk with the thread's working tree fails or is full.
    #[error("the workspace could not be made ready: {0}")]
    Disk(String),
    /// The thread's working tree cannot be opened.
    #[error("the workspace could not be made ready: {0}")]
    Workspace(String),
    /// The thread has no working tree here, for example because the machine was replaced.
    #[error("its working tree is gone, with the changes in it")]
    TreeGone,
    /// The thread's working tree belongs to another repository.
    #[error("the thread's working tree is of another repository")]
    AnotherTree,
    /// The stored conversation or events cannot be read.
    #[error("its stored conversation or events cannot be read: {0}")]
    Unread(StoreError),
    /// The store rejects the record with the events.
    #[error("its record with its events is rejected")]
    Record,
    /// The step lacks the loop state.
    #[error("the stored step lacks the state of the loop")]
    NoLoop,
    /// Another process reclaimed it.
    #[error("another process owns the run")]
    Fenced,
    /// A waiting run's request is rejected here.
    #[error("its request is rejected: {0}")]
    Request(String),
    /// The sender's ingress token is gone.
    #[error("the token that sent it is no longer configured for it, so it was not run")]
    TokenRemoved,
    /// Every process that started it ended before a step was stored.
    #[error("it was started several times, and every process ended before its first step")]
    NoStep,
    /// No randomness for the run's token.
    #[error("no randomness")]
    Randomness,
}

impl Refused {
    /// Returns whether the run lost the working tree, which the record then notes.
    pub(crate) const fn is_of_tree(&self) -> bool {
        matches!(
            self,
            Self::Disk(_) | Self::Workspace(_) | Self::TreeGone | Self::AnotherTree
        )
    }
}
