//! The working tree of the thread, which only records the effects on it.

use std::sync::Arc;

use ars_bot_ports::{
    Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, Repository, SearchHit, Workspace, WorkspaceError,
    WorkspaceProvider, WorkspaceRequest,
};
use ars_types::ThreadKey;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{evidence::Effect, lifetime::Lifetime, script::bounded::LARGE, story};

/// Lines of the large file, about 2,000 tokens.
const LARGE_LINES: usize = 900;

/// All working trees of one process.
pub(crate) struct Tree(pub(crate) Arc<Lifetime>);

#[async_trait]
impl WorkspaceProvider for Tree {
    async fn repository_of(&self, thread: &ThreadKey) -> Result<Option<Repository>, WorkspaceError> {
        Ok(self.0.world.has_tree(thread.as_str()).then(story::repository))
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let call = self.0.begin("workspace open").await;
        self.0.world.make_tree(request.thread.as_str());
        self.0.end_call(&call).await;
        Ok(Arc::new(Self(Arc::clone(&self.0))))
    }
}

impl Tree {
    /// Records an effect: `effect <call id>`.
    async fn act(&self, name: &str, effect: &str) {
        let call = self.0.begin(name).await;
        if let Some((_, id)) = effect.split_once("effect ") {
            let id = id.split_whitespace().next().unwrap_or_default().to_owned();
            let effect = Effect { call: id, process: self.0.name.clone(), number: call.number };
            self.0.world.evidence().effects.push(effect);
        }
        self.0.end_call(&call).await;
    }
}

#[async_trait]
impl Workspace for Tree {
    fn repository(&self) -> Option<&str> {
        Some("acme/app")
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        Ok(Some("abc123".into()))
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        Ok(String::new())
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        self.act("exec", request.command).await;
        Ok(ExecOutcome { output: "done".into(), ..ExecOutcome::default() })
    }

    async fn git(
        &self,
        request: GitRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        self.act("git", "").await;
        let is_digest = request.arguments.contains(&"--numstat");
        let output = if is_digest { Vec::new() } else { b"+changed\n".to_vec() };
        Ok(GitAnswer { exit_code: 0, output, truncated: false })
    }

    async fn read(&self, path: &str, _limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        if !path.ends_with(".txt") {
            return Err(WorkspaceError::NotFound(path.to_owned()));
        }
        self.act("read", path).await;
        let text = if path == LARGE { "one line\n".repeat(LARGE_LINES) } else { format!("alpha of {path}") };
        Ok((text.clone().into_bytes(), text.len() as u64))
    }

    async fn write(&self, _path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        self.act("write", &String::from_utf8_lossy(content)).await;
        Ok(())
    }

    async fn list(&self, _path: &str, _limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        self.act("list", "").await;
        Ok((vec![Entry { path: "a.txt".into(), size: 5 }], false))
    }

    async fn search(
        &self,
        _pattern: &str,
        _path: &str,
        _limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        self.act("search", "").await;
        Ok((Vec::new(), false))
    }
}
