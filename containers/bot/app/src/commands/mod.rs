//! One file per command of the command line, and how their failures are reported.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod friction;
pub mod serve;
pub mod watch;

use std::process::ExitCode;

use ars_wire::ErrorCode;

use crate::terminal;

/// A shell says this of a process that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// A failure as the command line reports it: `error (<code>): <message>` on standard error.
#[derive(Debug)]
pub enum Failure {
    /// The invocation or the configuration is wrong.
    InvalidInput(String),
    /// The service refused the request before a run, in its own words.
    Refused(String),
    /// Somebody else is at work there.
    Conflict(String),
    /// The run failed; in its own words.
    Failed(String),
    /// Something the command needs is not there: a file, a directory, an address.
    Unavailable(anyhow::Error),
    /// A bug, or a machine at its limits.
    Internal(anyhow::Error),
}

impl Failure {
    /// Prints it and says how to exit.
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

/// The command ended because of Ctrl-C.
fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}
