//! One file per command of the command line, and how their failures are reported.

pub mod ask;
pub mod completions;
pub mod diff;
pub mod serve;
pub mod watch;

use std::process::ExitCode;

/// The invocation was wrong.
const USAGE: u8 = 2;

/// A failure as the command line reports it: `error (<code>): <message>` on standard error.
#[derive(Debug)]
pub enum Failure {
    /// The invocation or the configuration is wrong.
    InvalidInput(String),
    /// The service refused the request before a run, in its own words.
    Refused(String),
    /// Anything else.
    Other(anyhow::Error),
}

impl Failure {
    /// Prints it and says how to exit.
    pub fn report(self) -> ExitCode {
        match self {
            Self::InvalidInput(message) => {
                eprintln!("error (invalid_input): {message}");
                ExitCode::from(USAGE)
            }
            Self::Refused(words) => {
                eprintln!("error (refused): {words}");
                ExitCode::FAILURE
            }
            Self::Other(error) => {
                eprintln!("error (internal): {error:#}");
                ExitCode::FAILURE
            }
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}
