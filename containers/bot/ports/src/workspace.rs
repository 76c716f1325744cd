//! The workspace port: the working tree that an agent's tools act on.
//!
//! Every path is relative to the workspace and confined to it by the adapter, also against symlinks and races.

use std::{fmt, sync::Arc, time::Duration};

use ars_codehost::diff::Commit;
use ars_types::{Cgroup, RefName, RunId, SandboxKind, SandboxNetwork, ThreadKey, TreePlace};
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::WorkspaceError;

/// Creates workspaces, each for a thread. A thread's follow-up gets the same workspace.
#[async_trait]
pub trait WorkspaceProvider: Send + Sync {
    /// Returns the command sandbox, or `None` where workspaces cannot be opened.
    fn sandbox(&self) -> Option<CommandSandbox> {
        None
    }

    /// Returns the repository in the thread's workspace, or `None` if the thread has no workspace
    /// yet.
    async fn repository_of(&self, thread: &ThreadKey)
    -> Result<Option<Repository>, WorkspaceError>;

    /// Looks for a thread's tree that this machine has no note of, and notes it. The run that
    /// continues names the repository.
    async fn find_elsewhere(
        &self,
        _thread: &ThreadKey,
        _repository: &Repository,
    ) -> Result<bool, WorkspaceError> {
        Ok(false)
    }

    /// Gives the thread back the tree from a run's last checkpoint. A tree with unsaved work is
    /// never replaced.
    async fn restore(
        &self,
        _thread: &ThreadKey,
        _run: &RunId,
        _cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        Err(WorkspaceError::NotFound(NO_CHECKPOINT.into()))
    }

    /// Opens the thread's workspace, cloning the repository if the thread has none yet.
    /// A tree that is gone is made again from the thread's last checkpoint.
    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError>;
}

/// The answer about a run without a checkpoint on this machine.
pub const NO_CHECKPOINT: &str = "this run has no checkpoint here";

/// A working tree that was saved as a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The ref name: `refs/ars/<run>/<number>`.
    pub git_ref: String,
    /// The commit it points at.
    pub commit: String,
    /// The tree had changed since the last checkpoint.
    pub is_new: bool,
    /// Files that it lacks, or has without their secrets.
    pub withheld: Vec<String>,
}

/// A request for a workspace.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceRequest<'a> {
    /// Thread that owns the tree.
    pub thread: &'a ThreadKey,
    /// The authorized repository. `None` reuses the thread's, or creates an empty repository.
    pub repository: Option<&'a Repository>,
    /// The thread's own repository, cloned again if the tree was removed to free the disk.
    pub own: Option<&'a Repository>,
    /// The ref to start from. `None` means the repository's default.
    pub git_ref: Option<&'a RefName>,
    /// The agent that runs commands in it, because agents can be allowed more hosts.
    pub agent: Option<&'a str>,
    /// How that agent uses the tree.
    pub access: TreeAccess,
    /// Why it is opened.
    pub purpose: OpenFor,
}

/// How an agent uses a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeAccess {
    /// The commits may be pushed.
    Write,
    /// Nothing leaves the tree. Commands may change files, as tests do.
    Read,
}

/// Why a workspace is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFor {
    /// A new run, which may get a new tree.
    Run,
    /// A run that continues and needs the tree that it worked in.
    Resume,
    /// A viewer of the changes, who causes no work.
    View,
}

/// The sandbox that commands run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSandbox {
    /// How commands are isolated.
    pub kind: SandboxKind,
    /// What network commands have.
    pub network: SandboxNetwork,
    /// Why a stronger kind was skipped.
    pub skipped: Option<String>,
    /// Control groups for runs.
    pub cgroup: Cgroup,
}

/// Where a working tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Where the tree is.
    pub tree: TreePlace,
    /// The command sandbox. `None` if it is not the provider's.
    pub sandbox: Option<CommandSandbox>,
    /// Text about the place for the run's reader, such as why it is not on a resident.
    pub note: Option<String>,
}

impl Placement {
    /// Returns the placement for a tree on the bot's disk.
    pub fn local(note: Option<String>) -> Self {
        Self {
            tree: TreePlace::Local,
            sandbox: None,
            note,
        }
    }
}

/// How a run leaves the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The run ended by itself. A tree with unsaved work stays.
    Ended,
    /// The run was stopped, and a command may still be in progress.
    Stopped,
}

impl<'a> WorkspaceRequest<'a> {
    /// Requests the workspace that a thread has, to view it.
    pub const fn for_thread(thread: &'a ThreadKey) -> Self {
        Self {
            thread,
            repository: None,
            own: None,
            git_ref: None,
            agent: None,
            access: TreeAccess::Write,
            purpose: OpenFor::View,
        }
    }
}

/// A repository and the origin, checked by configuration and still passed to git as a single
/// argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The name in events and records, such as `owner/name` or the folder's name.
    pub name: String,
    /// Path or URL for `git clone`.
    pub origin: String,
}

/// The service's own folder in a tree. The adapter excludes it from git.
pub const KEPT_FOLDER: &str = ".ars";

/// A thread's working tree.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Returns the repository's name, if the workspace has any.
    fn repository(&self) -> Option<&str>;

    /// Returns whether the thread's former tree was removed to free the disk, and this tree is a
    /// new clone.
    fn is_cloned_again(&self) -> bool {
        false
    }

    /// Returns the checkpoint's name from which a lost tree was made again.
    fn restored_from(&self) -> Option<&str> {
        None
    }

    /// Saves the tree as a commit outside it. The tree and the index are unchanged. Returns the
    /// last checkpoint if nothing changed since, and `None` if there is nothing to save.
    async fn checkpoint(
        &self,
        _run: &RunId,
        _cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        Ok(None)
    }

    /// Returns the repository's address, without credentials.
    fn origin(&self) -> Option<&str> {
        None
    }

    /// Returns the commit that a local tree started from. Commands in other trees push nothing.
    fn base(&self) -> Option<String> {
        None
    }

    /// Returns the branch that the thread's commits were last pushed to.
    async fn pushed_branch(&self) -> Option<RefName> {
        None
    }

    /// Pushes a commit from the tree to a service branch at the origin, never with force. The
    /// credential is minted for this operation, and no command in the tree receives it.
    async fn push(
        &self,
        _commit: &Commit,
        _branch: &RefName,
        _cancel: &CancellationToken,
    ) -> Result<PushOutcome, WorkspaceError> {
        Err(WorkspaceError::Refused(NO_REMOTE.into()))
    }

    /// Fetches a pull request's head from the origin, and checks out the commit.
    async fn check_out(
        &self,
        _pull_request: u64,
        _commit: &Commit,
        _cancel: &CancellationToken,
    ) -> Result<(), WorkspaceError> {
        Err(WorkspaceError::Refused(NO_REMOTE.into()))
    }

    /// Returns where the tree is.
    fn placement(&self) -> Placement {
        Placement::local(None)
    }

    /// Gives up the tree after a run's reply. Never loses work; a failure is logged.
    async fn release(&self, _how: Release) {}

    /// Returns the tree's commit, or `None` before a first commit.
    async fn head(&self) -> Result<Option<String>, WorkspaceError>;

    /// Returns uncommitted and new changes against the commit the thread started from, as a unified diff.
    async fn diff(&self) -> Result<String, WorkspaceError>;

    /// Runs a shell command for the model. The whole process group is killed at the timeout or on
    /// cancel.
    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError>;

    /// Runs a git command for the service in the tree; a non-zero exit is a result. It is an argv:
    /// no shell, no hook, no helper program from the tree's configuration, no network.
    async fn git(
        &self,
        request: GitRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError>;

    /// Reads at most `limit` bytes from a file. The second value is the file's whole size.
    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError>;

    /// Replaces a file atomically, creating parent directories.
    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError>;

    /// Stores a long output for tools, ignored by git, and returns the path, which equal texts
    /// share.
    async fn keep_output(&self, text: &str) -> Result<String, WorkspaceError> {
        let digest = Sha256::digest(text.as_bytes());
        let name = hex::encode(&digest[..6]);
        let path = format!("{KEPT_FOLDER}/outputs/{name}.txt");
        self.write(&path, text.as_bytes()).await.map(|()| path)
    }

    /// Returns up to `limit` unignored files below `path` in byte order, and whether there were more.
    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError>;

    /// Returns lines that match a regex in files git does not ignore, and whether there were more.
    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError>;
}

/// The problem when a tree has no origin that git reaches over a network.
const NO_REMOTE: &str = "this tree has no remote repository";

/// A tree's refs for the commits that were pushed, each named after its branch.
pub const PUSHED_REFS: &str = "refs/ars/pushed/";

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// The branch has the commit.
    Pushed,
    /// The origin rejected it, such as for a protected branch. Git's words, untrusted.
    Rejected(String),
}

/// A command to run.
#[derive(Debug, Clone, Copy)]
pub struct ExecRequest<'a> {
    /// Passed to `bash -c` as a single argument.
    pub command: &'a str,
    /// The process group is killed after this time.
    pub timeout: Duration,
    /// Maximum kept output in bytes. A longer output loses the middle.
    pub output_limit: usize,
}

/// What a command produced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecOutcome {
    /// Exit code: 128 + signal when a signal killed it, 124 after a timeout.
    pub exit_code: i32,
    /// Standard output and error in the order written, lossy UTF-8.
    pub output: String,
    /// The output's middle was dropped.
    pub truncated: bool,
    /// The timeout killed it.
    pub timed_out: bool,
    /// Hosts that the proxy refused, and that no earlier command in the run was refused.
    pub refused: Vec<RefusedHost>,
    /// Limits that the run's processes reached.
    pub reached: Vec<ReachedLimit>,
}

/// A limit that a run's processes reached while a command was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedLimit {
    /// The run's memory, in bytes. All its processes were killed.
    Memory(u64),
    /// The memory of the machine, or of a group around the run.
    OtherMemory,
    /// The run's processes and threads.
    Processes {
        /// The limit on their number.
        max: u64,
        /// They did not stop starting more, so all were killed.
        is_killed: bool,
    },
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => write!(
                f,
                "the memory limit of a run was reached ({} MiB), and its processes were killed; \
                 sandbox.limits.memoryBytes sets it",
                bytes >> 20
            ),
            Self::OtherMemory => {
                write!(
                    f,
                    "the memory of the machine ran out, and processes of this run were killed"
                )
            }
            Self::Processes { max, is_killed } => {
                write!(
                    f,
                    "the process limit of a run was reached ({max} processes and threads), "
                )?;
                let effect = if *is_killed {
                    "and they were killed"
                } else {
                    "and more were refused"
                };
                write!(f, "{effect}; sandbox.limits.processes sets it")
            }
        }
    }
}

/// A host that a command could not reach, because the host list does not allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHost {
    /// The host, with the port if the port is the reason.
    pub host: String,
    /// Why it was refused.
    pub reason: String,
    /// The setting that allows it, if any does.
    pub setting: Option<String>,
}

impl fmt::Display for RefusedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was refused: {}", self.host, self.reason)?;
        match &self.setting {
            Some(setting) => write!(f, "; {setting} allows it"),
            None => Ok(()),
        }
    }
}

/// A git command for the service. Words from a model or a message appear only as parsed refs.
#[derive(Debug, Clone, Copy)]
pub struct GitRequest<'a> {
    /// Arguments, subcommand first.
    pub arguments: &'a [&'a str],
    /// Maximum bytes of output kept, from the start.
    pub output_limit: usize,
}

/// What a git command produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnswer {
    /// Exit code of git.
    pub exit_code: i32,
    /// Standard output as bytes.
    pub output: Vec<u8>,
    /// The output was longer than the limit.
    pub truncated: bool,
}

/// A listed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path relative to the root.
    pub path: String,
    /// File size in bytes.
    pub size: u64,
}

/// Maximum bytes of a line that a search reads, from the start. Bounds the hit size.
pub const LINE_BYTES: usize = 16 << 10;

/// A line that matched a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Path relative to the root.
    pub path: String,
    /// Line number from 1.
    pub line: u64,
    /// The line, up to [`LINE_BYTES`].
    /// It is cut no further here, because a secret cut in half is no longer recognized.
    pub text: String,
}
