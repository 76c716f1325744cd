//! Handler failures.

use ars_auth::Denied;
use ars_bot_ports::StoreError;
use ars_wire::ErrorCode;

use crate::{
    ChangeError,
    queries::{QueryError, RestoreError},
};

/// Why a handler has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandError {
    pub(super) code: ErrorCode,
    /// For the caller. Never contains an input value.
    pub(super) message: String,
    /// The denial reason, for the audit line.
    pub(super) denied: Option<Denied>,
}

impl CommandError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            denied: None,
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidInput, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    pub(super) fn denied(reason: Denied) -> Self {
        Self {
            denied: Some(reason),
            ..Self::new(ErrorCode::Unauthorized, super::text::DENIED)
        }
    }

    pub(super) fn stopped() -> Self {
        Self::new(ErrorCode::Failed, super::text::STOPPED)
    }

    /// Logs the detail, which the caller does not receive.
    pub(super) fn internal(detail: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %detail, "command failed");
        Self::new(ErrorCode::Internal, super::text::INTERNAL)
    }

    /// Logs a store failure's detail. `what` begins the message to the caller.
    pub(super) fn store(what: &str, error: &StoreError) -> Self {
        tracing::error!(error = %error, what, "store not available to a command");
        Self::unavailable(format!(
            "{what} is not available right now; try again in a moment"
        ))
    }
}

impl From<QueryError> for CommandError {
    fn from(error: QueryError) -> Self {
        let denied = match error {
            QueryError::Denied(reason) => Some(reason),
            QueryError::NotFound | QueryError::AlreadyFinished | QueryError::Unavailable => None,
        };
        Self {
            denied,
            ..Self::new(error.code(), error.to_string())
        }
    }
}

impl From<RestoreError> for CommandError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Query(error) => error.into(),
            RestoreError::Live | RestoreError::Refused(_) => Self::conflict(error.to_string()),
            RestoreError::NoCheckpoint => Self::not_found(error.to_string()),
            RestoreError::Failed => Self::unavailable(error.to_string()),
        }
    }
}

impl From<ChangeError> for CommandError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Refused(fault) => Self::invalid(fault.to_string()),
            ChangeError::Unavailable(source) => {
                tracing::error!(error = %source, "overrides not changed");
                Self::unavailable("the settings cannot be changed right now; try again in a moment")
            }
            ChangeError::Conflict => Self::unavailable(
                "the settings are being changed by someone else; try again in a moment",
            ),
        }
    }
}
