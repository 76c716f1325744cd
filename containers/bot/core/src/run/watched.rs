//! A workspace view that records whether the workspace answered a call.
//!
//! A tool may refuse its arguments, answer from elsewhere, or need no workspace. Its result then
//! does not show whether the workspace works. Not here: the consequences (`ars_agent::Loop`).

use std::sync::atomic::{AtomicBool, Ordering};

use ars_bot_ports::{
    Checkpoint, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, Placement, Release,
    SearchHit, Workspace, WorkspaceError,
};
use ars_types::RunId;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A workspace with recorded answers.
pub(super) struct Watched<'a> {
    workspace: &'a dyn Workspace,
    has_answered: AtomicBool,
}

impl<'a> Watched<'a> {
    pub(super) fn new(workspace: &'a dyn Workspace) -> Self {
        Self {
            workspace,
            has_answered: AtomicBool::new(false),
        }
    }

    /// Returns whether the workspace did something or reported a missing file.
    /// A command that exits non-zero was run.
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    fn seen<T>(&self, result: Result<T, WorkspaceError>) -> Result<T, WorkspaceError> {
        let is_answer = match &result {
            Ok(_) | Err(WorkspaceError::NotFound(_)) => true,
            // These concern the request alone, or a workspace that is missing, stopped or broken.
            Err(
                WorkspaceError::PathEscape(_)
                | WorkspaceError::Refused(_)
                | WorkspaceError::Clone(_)
                | WorkspaceError::Cancelled
                | WorkspaceError::Busy
                | WorkspaceError::Infra(_),
            ) => false,
        };
        self.has_answered.fetch_or(is_answer, Ordering::Relaxed);
        result
    }
}

#[async_trait]
impl Workspace for Watched<'_> {
    fn repository(&self) -> Option<&str> {
        self.workspace.repository()
    }

    fn origin(&self) -> Option<&str> {
        self.workspace.origin()
    }

    fn restored_from(&self) -> Option<&str> {
        self.workspace.restored_from()
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        self.workspace.checkpoint(run, cancel).await
    }

    fn placement(&self) -> Placement {
        self.workspace.placement()
    }

    async fn release(&self, how: Release) {
        self.workspace.release(how).await;
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        self.seen(self.workspace.head().await)
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        self.seen(self.workspace.diff().await)
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        self.seen(self.workspace.exec(request, cancel).await)
    }

    async fn git(
        &self,
        request: GitRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        self.seen(self.workspace.git(request, cancel).await)
    }

    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        self.seen(self.workspace.read(path, limit).await)
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        self.seen(self.workspace.write(path, content).await)
    }

    async fn keep_output(&self, text: &str) -> Result<String, WorkspaceError> {
        self.seen(self.workspace.keep_output(text).await)
    }

    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        self.seen(self.workspace.list(path, limit).await)
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        self.seen(self.workspace.search(pattern, path, limit).await)
    }
}
