//! The workspace port: where an agent's tools act.
//!
//! Every path is relative to the workspace and confined to it by the adapter, also against symlinks and races.

use std::{sync::Arc, time::Duration};

use ars_types::{RefName, ThreadKey};
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// Makes workspaces, one per thread; a follow-up of a thread gets the same one back.
#[async_trait]
pub trait WorkspaceProvider: Send + Sync {
    /// The repository of the thread's workspace, when the thread has one from an earlier run.
    async fn repository_of(&self, thread: &ThreadKey) -> Result<Option<Repository>, WorkspaceError>;

    /// Opens the thread's workspace, cloning the repository when the thread has none yet.
    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError>;
}

/// Which workspace.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceRequest<'a> {
    /// The thread.
    pub thread: &'a ThreadKey,
    /// The repository, already allowed by the gates; `None` reuses the thread's, or makes an empty one.
    pub repository: Option<&'a Repository>,
    /// The ref to start from; the repository's default when absent.
    pub git_ref: Option<&'a RefName>,
}

/// Where a repository comes from: already checked by configuration, still passed to git as one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its name in events and records, such as `owner/name` or the folder's name.
    pub name: String,
    /// Path or URL for `git clone`.
    pub origin: String,
}

/// The folder of a tree that belongs to the service. Whoever makes the tree has git ignore it.
pub const KEPT_FOLDER: &str = ".ars";

/// One thread's working tree.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// The repository's name, if the workspace has one.
    fn repository(&self) -> Option<&str>;

    /// The commit the tree stands on; `None` before a first commit.
    async fn head(&self) -> Result<Option<String>, WorkspaceError>;

    /// Uncommitted and new changes against the commit the thread started from, as a unified diff.
    async fn diff(&self) -> Result<String, WorkspaceError>;

    /// Runs a shell command of the model's. The whole process group dies at the timeout or on cancel.
    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError>;

    /// Runs one git command of the service's own in the tree: an argv, no shell, no hook, no helper program of the
    /// tree's configuration, no network. A non-zero exit is an answer.
    async fn git(
        &self,
        request: GitRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError>;

    /// Reads a file, at most `limit` bytes of it; the second value is the file's whole size.
    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError>;

    /// Replaces a file whole and atomically, making parent directories.
    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError>;

    /// Keeps a long output where the tools can read it and git does not see it: its path. The same text has the same
    /// path.
    async fn keep_output(&self, text: &str) -> Result<String, WorkspaceError> {
        let digest = Sha256::digest(text.as_bytes());
        let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let path = format!("{KEPT_FOLDER}/outputs/{name}.txt");
        self.write(&path, text.as_bytes()).await.map(|()| path)
    }

    /// Files below `path` that git does not ignore, in byte order, at most `limit`; true when there were more.
    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError>;

    /// Lines that match a regular expression in files git does not ignore; true when there were more.
    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError>;
}

/// A command to run.
#[derive(Debug, Clone, Copy)]
pub struct ExecRequest<'a> {
    /// Passed to `bash -c` as one argument.
    pub command: &'a str,
    /// Kills the process group when it passes.
    pub timeout: Duration,
    /// Most bytes of output kept; the middle is dropped beyond it.
    pub output_limit: usize,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Exit code; 128 + signal when killed by one, 124 when timed out.
    pub exit_code: i32,
    /// Standard output and error in the order written, lossy UTF-8.
    pub output: String,
    /// The middle of the output was dropped.
    pub truncated: bool,
    /// The timeout killed it.
    pub timed_out: bool,
}

/// A git command of the service's own. Words that came from a model or a message are refs, parsed as such.
#[derive(Debug, Clone, Copy)]
pub struct GitRequest<'a> {
    /// Subcommand first.
    pub arguments: &'a [&'a str],
    /// Most bytes of output kept, from its start.
    pub output_limit: usize,
}

/// What a git command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnswer {
    /// Its exit code.
    pub exit_code: i32,
    /// Standard output.
    pub output: Vec<u8>,
    /// There was more of it than the limit.
    pub truncated: bool,
}

/// One listed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative path.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

/// Most bytes of a line that a search reads; of a longer one, what comes first. Bounds what its hits take.
pub const LINE_BYTES: usize = 16 << 10;

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Relative path.
    pub path: String,
    /// Line number from 1.
    pub line: u64,
    /// The line, uncut up to [`LINE_BYTES`] of the file: secrets are hidden before anything is cut off that they could be
    /// found by.
    pub text: String,
}

/// Why a workspace did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path leaves the workspace, or is not a valid relative path.
    #[error("path `{0}` is outside the workspace")]
    PathEscape(String),
    /// No such file.
    #[error("no such file: {0}")]
    NotFound(String),
    /// The model's request cannot be met as it stands (a directory, a bad pattern).
    #[error("{0}")]
    Refused(String),
    /// The repository could not be cloned or the ref does not exist; safe to show.
    #[error("{0}")]
    Clone(String),
    /// No sandbox is free (resident supplement section 11: capacity, no failure).
    #[error("no sandbox is free now; go on without one, or try again later")]
    Busy,
    /// The run was stopped.
    #[error("cancelled")]
    Cancelled,
    /// The workspace itself is broken: infrastructure, not the command.
    #[error("workspace failed: {0}")]
    Infra(String),
}
