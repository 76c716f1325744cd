//! The errors of a query.

use ars_wire::ErrorCode;

/// The reason for which a query has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The run is unknown, unfinished or not readable. Callers cannot tell these apart.
    #[error("not found")]
    NotFound,
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
            Self::NotFound => ErrorCode::NotFound,
            Self::AlreadyFinished => ErrorCode::Conflict,
            Self::Unavailable => ErrorCode::Unavailable,
        }
    }
}
