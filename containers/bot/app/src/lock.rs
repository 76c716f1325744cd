//! Exclusively locks an open file or folder. The kernel releases it when the process is killed.

use std::fs::{File, TryLockError};

use crate::commands::Failure;

/// Locks a file until it is closed.
///
/// # Errors
/// `busy` if another process holds it; `unavailable` with the `unusable` text if it cannot be
/// locked.
pub fn exclusive(
    file: &File,
    busy: impl FnOnce() -> String,
    unusable: impl FnOnce() -> String,
) -> Result<(), Failure> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Failure::Conflict(busy()),
        TryLockError::Error(error) => {
            Failure::Unavailable(anyhow::Error::new(error).context(unusable()))
        }
    })
}
