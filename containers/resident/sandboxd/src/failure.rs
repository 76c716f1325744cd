//! Why steps, or the daemon's start, fail.

use std::io;

use ars_resident::daemon::{FailureKind, StepFailure};
use rustix::io::Errno;

/// The result of a step's part.
pub(crate) type Result<T> = std::result::Result<T, StepFailure>;

/// The daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A workspace folder cannot be created.
    #[error("the workspace cannot be prepared: {0}")]
    Workspace(#[source] io::Error),
    /// A program is missing.
    #[error("{0} is not in a trusted folder")]
    Program(&'static str),
    /// The mode needs root.
    #[error("users of threads need a daemon that is root")]
    NotRoot,
}

/// Makes a failure that the request causes.
pub(crate) fn invalid(text: impl Into<String>) -> StepFailure {
    StepFailure::new(FailureKind::Invalid, text)
}

/// Adds the attempted action to a system error.
pub(crate) trait Context<T> {
    /// Makes the error a step failure.
    fn context(self, what: &str) -> Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: &str) -> Result<T> {
        self.map_err(|error| {
            let error = error.into();
            StepFailure::new(kind_of(&error), format!("{what}: {error}"))
        })
    }
}

fn kind_of(error: &io::Error) -> FailureKind {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => FailureKind::NoSpace,
        Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM) => FailureKind::Exhausted,
        Some(Errno::NOENT | Errno::NOTDIR) => FailureKind::NotFound,
        // The path leaves the folder, or leads through a link.
        Some(Errno::XDEV | Errno::LOOP) => FailureKind::Invalid,
        _ if error.kind() == io::ErrorKind::NotFound => FailureKind::NotFound,
        // `cap-std` reports an escape without a number.
        _ if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() => {
            FailureKind::Invalid
        }
        _ if error.kind() == io::ErrorKind::Interrupted => FailureKind::Cancelled,
        _ => FailureKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_of_the_machine_is_no_missing_file() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM] {
            assert_eq!(kind_of(&errno.into()), FailureKind::Exhausted, "{errno}");
        }
        assert_eq!(kind_of(&Errno::NOENT.into()), FailureKind::NotFound);
    }
}
