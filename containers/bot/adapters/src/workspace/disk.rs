//! Blocking calls of the file system, and their errors.

use std::io;

use ars_bot_ports::WorkspaceError;

/// Runs blocking calls outside of the threads of the runtime.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let broke_off = || WorkspaceError::Infra("opening the workspace broke off".into());
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(broke_off()))
}

/// Runs blocking calls of the file system only.
pub(super) async fn blocking_io<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, WorkspaceError> {
    blocking(move || work().map_err(|error| infra(&error))).await
}

/// Returns the error of a failed call.
pub(super) fn infra(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(error.to_string())
}
