//! One file for each command, and how failures are reported.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod friction;
pub mod serve;
pub mod watch;

use std::process::ExitCode;

use ars_wire::ErrorCode;

use crate::terminal;

/// Exit code of a process that Ctrl-C ended, as shells define it.
const INTERRUPTED: u8 = 130;

/// A failure as the command line reports it: `error (<code>): <message>` on standard error.
#[derive(Debug)]
pub enum Failure {
    /// Invalid invocation or configuration.
    InvalidInput(String),
    /// The service rejected the request before a run; the text is its own.
    Refused(String),
    /// Another process uses the same thread.
    Conflict(String),
    /// The run failed; the text is its own.
    Failed(String),
    /// A missing file, directory or address.
    Unavailable(anyhow::Error),
    /// A bug, or an exhausted machine.
    Internal(anyhow::Error),
}

impl Failure {
    /// Prints the failure and returns its exit code.
    pub fn report(self) -> ExitCode {
        let code = self.code();
        let message = match self {
            Self::InvalidInput(message)
            | Self::Refused(message)
            | Self::Conflict(message)
            | Self::Failed(message) => message,
            Self::Unavailable(error) | Self::Internal(error) => format!("{error:#}"),
        };
        terminal::tell(&format!("error ({code}): {message}"));
        ExitCode::from(code.exit_code())
    }

    /// Returns the error code.
    const fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidInput(_) => ErrorCode::InvalidInput,
            Self::Refused(_) => ErrorCode::Refused,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::Failed(_) => ErrorCode::Failed,
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

/// Returns the exit code of a command that Ctrl-C ended.
fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}
