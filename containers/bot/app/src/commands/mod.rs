//! One file per command of the command line, and how their failures are reported.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod friction;
pub mod serve;
pub mod watch;

use std::process::ExitCode;

/// The invocation or the configuration is wrong (bot supplement section 28).
const USAGE: u8 = 2;
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
        let (code, message) = match &self {
            Self::InvalidInput(message) => ("invalid_input", message.clone()),
            Self::Refused(words) => ("refused", words.clone()),
            Self::Conflict(message) => ("conflict", message.clone()),
            Self::Failed(words) => ("failed", words.clone()),
            Self::Unavailable(error) => ("unavailable", format!("{error:#}")),
            Self::Internal(error) => ("internal", format!("{error:#}")),
        };
        ars_bot_cli::tell(&format!("error ({code}): {message}"));
        match self {
            Self::InvalidInput(_) => ExitCode::from(USAGE),
            Self::Refused(_)
            | Self::Conflict(_)
            | Self::Failed(_)
            | Self::Unavailable(_)
            | Self::Internal(_) => ExitCode::FAILURE,
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
