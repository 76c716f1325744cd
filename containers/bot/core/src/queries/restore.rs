//! Restoring the working tree that a finished run left.

use ars_bot_ports::{Checkpoint, NO_CHECKPOINT, WorkspaceError};
use ars_types::RunId;
use tokio_util::sync::CancellationToken;

use super::{Queries, QueryError, Reader};

/// Why a tree was not restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The run cannot be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The run has not ended, or the thread has another live run.
    #[error("a run of the thread is live: stop it or wait for its end, then restore")]
    Live,
    /// The run has no checkpoint on this machine.
    #[error("{NO_CHECKPOINT}")]
    NoCheckpoint,
    /// The thread's tree has work or is in use.
    #[error("{0}")]
    Refused(String),
    /// The workspace operation failed.
    #[error("the working tree cannot be restored right now; try again in a moment")]
    Failed,
}

impl Queries {
    /// Restores a finished run's last checkpoint as the thread's tree.
    ///
    /// # Errors
    ///
    /// Returns [`RestoreError::Refused`] if the present tree would be lost, and
    /// [`QueryError::Denied`] for a run that the viewer may not stop.
    pub async fn restore_as(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
    ) -> Result<Checkpoint, RestoreError> {
        let local = self
            .context
            .registry()
            .get(id)
            .filter(|run| run.finished.is_none());
        if local.is_some_and(|run| {
            reader
                .viewer
                .check_stop(&run.facts.channel_id, run.facts.visibility)
                .is_ok()
        }) {
            return Err(RestoreError::Live);
        }
        let run = self.finished(reader, id).await?;
        reader
            .viewer
            .check_stop(&run.channel_id, run.visibility)
            .map_err(QueryError::Denied)?;
        let thread = run.thread_key.as_ref().ok_or(RestoreError::NoCheckpoint)?;
        if self.is_thread_live(&run).await {
            return Err(RestoreError::Live);
        }
        let never = CancellationToken::new();
        let restored = self
            .context
            .deps()
            .workspaces
            .restore(thread, id, &never)
            .await;
        restored.map_err(|error| match error {
            WorkspaceError::NotFound(_) => RestoreError::NoCheckpoint,
            WorkspaceError::Refused(reason) => RestoreError::Refused(reason),
            error => {
                tracing::warn!(run = %id, %error, "working tree not restored");
                RestoreError::Failed
            }
        })
    }
}
