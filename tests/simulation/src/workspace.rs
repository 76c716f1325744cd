//! The thread's working tree, which only records effects on it.

use std::sync::Arc;

use ars_bot_ports::{
    Checkpoint, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, Repository, SearchHit,
    Workspace, WorkspaceError, WorkspaceProvider, WorkspaceRequest,
};
use ars_types::{RunId, ThreadKey};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{evidence::Effect, lifetime::Lifetime, script::bounded::LARGE, story};

/// The port call that saves a tree.
pub const CHECKPOINT_CALL: &str = "workspace checkpoint";
/// Lines in the large file, about 2,000 tokens.
const LARGE_LINES: usize = 900;

/// All working trees in a process.
pub(crate) struct Trees(pub(crate) Arc<Lifetime>);

/// A thread's working tree.
struct Tree {
    life: Arc<Lifetime>,
    thread: String,
    restored_from: Option<String>,
}

#[async_trait]
impl WorkspaceProvider for Trees {
    async fn repository_of(
        &self,
        thread: &ThreadKey,
    ) -> Result<Option<Repository>, WorkspaceError> {
        let world = &self.0.world;
        let is_known =
            world.has_tree(thread.as_str()) || world.checkpoint(thread.as_str()).is_some();
        Ok(is_known.then(story::repository))
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let call = self.0.begin("workspace open").await;
        let (world, thread) = (&self.0.world, request.thread.as_str());
        let lost = if world.has_tree(thread) {
            None
        } else {
            world.checkpoint(thread)
        };
        world.make_tree(thread);
        self.0.end_call(&call).await;
        let restored_from = lost.map(|checkpoint| checkpoint.git_ref);
        Ok(Arc::new(Tree {
            life: Arc::clone(&self.0),
            thread: thread.to_owned(),
            restored_from,
        }))
    }
}

impl Tree {
    /// Records an effect: `effect <call id>`.
    async fn act(&self, name: &str, effect: &str) {
        let call = self.life.begin(name).await;
        if let Some((_, id)) = effect.split_once("effect ") {
            let id = id.split_whitespace().next().unwrap_or_default().to_owned();
            let effect = Effect {
                call: id,
                process: self.life.name.clone(),
                number: call.number,
            };
            self.life.world.evidence().effects.push(effect);
        }
        self.life.end_call(&call).await;
    }
}

#[async_trait]
impl Workspace for Tree {
    fn repository(&self) -> Option<&str> {
        Some("acme/app")
    }

    fn restored_from(&self) -> Option<&str> {
        self.restored_from.as_deref()
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        _cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        if !self.life.world.makes_checkpoints {
            return Ok(None);
        }
        let call = self.life.begin(CHECKPOINT_CALL).await;
        let saved = self.life.world.save_tree(&self.thread, run);
        self.life.end_call(&call).await;
        Ok(Some(saved))
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
        Ok(ExecOutcome {
            output: "done".into(),
            ..ExecOutcome::default()
        })
    }

    async fn git(
        &self,
        request: GitRequest<'_>,
        _cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        self.act("git", "").await;
        let is_digest = request.arguments.contains(&"--numstat");
        let output = if is_digest {
            Vec::new()
        } else {
            b"+changed\n".to_vec()
        };
        Ok(GitAnswer {
            exit_code: 0,
            output,
            truncated: false,
        })
    }

    async fn read(&self, path: &str, _limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        if !path.ends_with(".txt") {
            return Err(WorkspaceError::NotFound(path.to_owned()));
        }
        self.act("read", path).await;
        let text = if path == LARGE {
            "one line\n".repeat(LARGE_LINES)
        } else {
            format!("alpha of {path}")
        };
        Ok((text.clone().into_bytes(), text.len() as u64))
    }

    async fn write(&self, _path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        self.act("write", &String::from_utf8_lossy(content)).await;
        Ok(())
    }

    async fn list(&self, _path: &str, _limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        self.act("list", "").await;
        Ok((
            vec![Entry {
                path: "a.txt".into(),
                size: 5,
            }],
            false,
        ))
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
