//! Kill points around the workspaces: `workspace`.

use std::sync::Arc;

use ars_bot_ports::{
    Checkpoint, CommandSandbox, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, Placement,
    PushOutcome, Release, Repository, SearchHit, Workspace, WorkspaceError, WorkspaceProvider,
    WorkspaceRequest,
};
use ars_codehost::diff::Commit;
use ars_types::{RefName, RunId, ThreadKey};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::point::KillPoint;

type Answer<T> = Result<T, WorkspaceError>;

/// Workspaces with kill points.
pub(super) struct KilledWorkspaces {
    pub(super) inner: Arc<dyn WorkspaceProvider>,
    pub(super) point: KillPoint,
}

struct KilledWorkspace {
    inner: Arc<dyn Workspace>,
    point: KillPoint,
}

#[async_trait]
impl WorkspaceProvider for KilledWorkspaces {
    fn sandbox(&self) -> Option<CommandSandbox> {
        self.inner.sandbox()
    }

    async fn repository_of(&self, thread: &ThreadKey) -> Answer<Option<Repository>> {
        self.point
            .around("workspace.repository_of", self.inner.repository_of(thread))
            .await
    }

    async fn find_elsewhere(&self, thread: &ThreadKey, repository: &Repository) -> Answer<bool> {
        self.inner.find_elsewhere(thread, repository).await
    }

    async fn restore(
        &self,
        thread: &ThreadKey,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Answer<Checkpoint> {
        self.inner.restore(thread, run, cancel).await
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Answer<Arc<dyn Workspace>> {
        let inner = self
            .point
            .around("workspace.open", self.inner.open(request, cancel))
            .await?;
        Ok(Arc::new(KilledWorkspace {
            inner,
            point: self.point.clone(),
        }))
    }
}

#[async_trait]
impl Workspace for KilledWorkspace {
    fn repository(&self) -> Option<&str> {
        self.inner.repository()
    }

    fn is_cloned_again(&self) -> bool {
        self.inner.is_cloned_again()
    }

    fn restored_from(&self) -> Option<&str> {
        self.inner.restored_from()
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Answer<Option<Checkpoint>> {
        self.point
            .around("workspace.checkpoint", self.inner.checkpoint(run, cancel))
            .await
    }

    fn placement(&self) -> Placement {
        self.inner.placement()
    }

    async fn release(&self, how: Release) {
        self.inner.release(how).await;
    }

    async fn head(&self) -> Answer<Option<String>> {
        self.point.around("workspace.head", self.inner.head()).await
    }

    async fn diff(&self) -> Answer<String> {
        self.point.around("workspace.diff", self.inner.diff()).await
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Answer<ExecOutcome> {
        self.point
            .around("workspace.exec", self.inner.exec(request, cancel))
            .await
    }

    async fn git(&self, request: GitRequest<'_>, cancel: &CancellationToken) -> Answer<GitAnswer> {
        self.point
            .around("workspace.git", self.inner.git(request, cancel))
            .await
    }

    async fn read(&self, path: &str, limit: u64) -> Answer<(Vec<u8>, u64)> {
        self.point
            .around("workspace.read", self.inner.read(path, limit))
            .await
    }

    async fn write(&self, path: &str, content: &[u8]) -> Answer<()> {
        self.point
            .around("workspace.write", self.inner.write(path, content))
            .await
    }

    async fn keep_output(&self, text: &str) -> Answer<String> {
        self.point
            .around("workspace.keep_output", self.inner.keep_output(text))
            .await
    }

    async fn list(&self, path: &str, limit: usize) -> Answer<(Vec<Entry>, bool)> {
        self.point
            .around("workspace.list", self.inner.list(path, limit))
            .await
    }

    fn origin(&self) -> Option<&str> {
        self.inner.origin()
    }

    async fn pushed_branch(&self) -> Option<RefName> {
        self.inner.pushed_branch().await
    }

    async fn push(
        &self,
        commit: &Commit,
        branch: &RefName,
        cancel: &CancellationToken,
    ) -> Answer<PushOutcome> {
        self.point
            .around("workspace.push", self.inner.push(commit, branch, cancel))
            .await
    }

    async fn check_out(
        &self,
        pull_request: u64,
        commit: &Commit,
        cancel: &CancellationToken,
    ) -> Answer<()> {
        self.point
            .around(
                "workspace.check_out",
                self.inner.check_out(pull_request, commit, cancel),
            )
            .await
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Answer<(Vec<SearchHit>, bool)> {
        self.point
            .around("workspace.search", self.inner.search(pattern, path, limit))
            .await
    }
}
