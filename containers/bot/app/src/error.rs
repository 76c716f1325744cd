//! The binary's errors, and their exit codes.

use std::process::ExitCode;

use ars_bot_ports::StoreError;
use ars_types::RunStatus;
use ars_wire::ErrorCode;

use crate::terminal;

/// Exit code for a process that Ctrl-C ended, as shells define it.
const INTERRUPTED: u8 = 130;

/// A failure as the command line reports it: `error (<code>): <message>` on standard error.
#[derive(Debug)]
pub enum Failure {
    /// Invalid invocation or configuration.
    InvalidInput(String),
    /// The service rejected the request before a run, with this text.
    Refused(String),
    /// Another process uses the same thread.
    Conflict(String),
    /// The run failed, with this text.
    Failed(String),
    /// A registry command was rejected or failed, with this text.
    Command(ErrorCode, String),
    /// A missing file, directory or address.
    Unavailable(anyhow::Error),
    /// A bug, or an exhausted machine.
    Internal(anyhow::Error),
}

impl Failure {
    /// Prints the failure and returns the exit code.
    pub fn report(self) -> ExitCode {
        let code = self.code();
        terminal::tell(&format!("error ({code}): {}", self.message()));
        ExitCode::from(code.exit_code())
    }

    /// Returns the text without the code.
    pub fn message(self) -> String {
        match self {
            Self::InvalidInput(message)
            | Self::Refused(message)
            | Self::Conflict(message)
            | Self::Failed(message)
            | Self::Command(_, message) => message,
            Self::Unavailable(error) | Self::Internal(error) => format!("{error:#}"),
        }
    }

    /// Returns whether a repeated request may succeed: the service is not reachable or has an outage.
    pub const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Command(ErrorCode::Unavailable, _)
        )
    }

    /// Adds what the failure leaves behind.
    pub fn noting(self, note: &str) -> Self {
        Self::Command(self.code(), format!("{}; {note}", self.message()))
    }

    /// Returns the error code.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidInput(_) => ErrorCode::InvalidInput,
            Self::Refused(_) => ErrorCode::Refused,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::Failed(_) => ErrorCode::Failed,
            Self::Command(code, _) => *code,
            Self::Unavailable(_) => ErrorCode::Unavailable,
            Self::Internal(_) => ErrorCode::Internal,
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

/// Returns the exit code for a command that Ctrl-C ended.
pub fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Returns whether a run with this status exits with code 0.
pub const fn is_success(status: RunStatus) -> bool {
    matches!(status, RunStatus::Completed | RunStatus::StoppedSoft)
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file cannot be read")]
    Unreadable(#[source] std::io::Error),
    /// It does not have the expected form.
    #[error("line {line}{key}: {problem}")]
    Malformed {
        /// Line number in the file.
        line: usize,
        /// The key, when the line names a key.
        key: String,
        /// The form that is expected.
        problem: String,
    },
    /// A value is outside the allowed range.
    #[error("{key}: {problem}")]
    Invalid {
        /// The key with the value.
        key: String,
        /// The form that is expected.
        problem: String,
    },
}

impl ConfigError {
    /// Makes an [`ConfigError::Invalid`].
    pub fn invalid(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

/// An execution kind that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`execution.type` must be `local`: only `local` exists")]
pub struct UnknownExecution;

/// Why the configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The store failed to answer.
    #[error("the state Worker did not give it")]
    Store(#[source] StoreError),
    /// The document does not exist.
    #[error("the state Worker has no such document: put one with `cargo xtask configure`")]
    Missing,
    /// The document is not a file's text under its format.
    #[error(
        "the document must be {{\"yaml\": \"the text of the file\"}} and no more, or with `json` or `toml`"
    )]
    Shape,
    /// The text is not a configuration.
    #[error(transparent)]
    Content(#[from] ConfigError),
}

/// An invalid command-line argument value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidArgument {
    /// Not an address with a port.
    #[error("must be an address with a port, such as 127.0.0.1:8787 or 0.0.0.0:8787")]
    SocketAddress,
    /// The word is not an effort.
    #[error("must be low, medium, high, xhigh or max")]
    Effort,
}
