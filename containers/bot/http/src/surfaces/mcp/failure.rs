//! A tool's failure, before an era gives it a form.

use ars_bot_core::commands::Failure;
use ars_bot_ports::{Overload, texts};
use ars_wire::ErrorCode;

/// Why a tool has no result.
#[derive(Debug)]
pub(super) struct ToolFailure {
    /// The failure's error code.
    pub(super) code: ErrorCode,
    /// The text for the caller. Names fields, never their values.
    pub(super) text: String,
}

impl ToolFailure {
    /// Returns a failure with this code.
    pub(super) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// Logs a fault and returns a failure without the details.
    pub(super) fn internal(error: &tokio::task::JoinError) -> Self {
        tracing::error!(error = %error, "a tool failed outside its own handling");
        Self::new(ErrorCode::Internal, "internal error")
    }
}

impl From<Overload> for ToolFailure {
    fn from(overload: Overload) -> Self {
        Self::new(overload.error_code(), texts::overload(overload))
    }
}

impl From<Failure> for ToolFailure {
    fn from(failure: Failure) -> Self {
        Self::new(failure.code, failure.message)
    }
}
