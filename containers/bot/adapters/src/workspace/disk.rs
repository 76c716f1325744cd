//! Blocking file system calls and their errors.

use std::io;

use ars_bot_ports::WorkspaceError;

/// Runs blocking calls outside the runtime's threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let broke_off = || WorkspaceError::Infra("opening the workspace broke off".into());
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(broke_off()))
}

/// Runs only blocking file system calls.
pub(super) async fn blocking_io<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, WorkspaceError> {
    blocking(move || work().map_err(|error| infra(&error))).await
}

/// Returns the error for a failed call.
pub(super) fn infra(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(error.to_string())
}
