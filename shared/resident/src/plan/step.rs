//! The vocabulary for plans.

use ars_types::StrictRefName;
use serde::{Deserialize, Serialize};

use crate::layout::MIRROR;
use crate::names::{BackupId, ExecCommand, LockfileKey, Sha, TableCommand};
use crate::pool::PoolUser;

/// Time in which a short step ends.
pub(super) const FILE_TIMEOUT_MS: i64 = 60_000;
/// Time in which a git call on the network ends.
pub(super) const FETCH_TIMEOUT_MS: i64 = 300_000;

/// A user for commands from repositories and callers, never root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unprivileged {
    /// The user that builds the checkout.
    Build,
    /// A user from the pool.
    Pool(PoolUser),
}

/// Root, for the daemon's work outside trees that others can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root;

/// The user that runs a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum User {
    /// The daemon's own user.
    Root(Root),
    /// Any user other than root.
    Unprivileged(Unprivileged),
}

impl User {
    /// The daemon's own user.
    pub const ROOT: Self = Self::Root(Root);
    /// The user that builds the checkout.
    pub const BUILD: Self = Self::Unprivileged(Unprivileged::Build);

    /// Returns a user from the pool.
    pub const fn pool(user: PoolUser) -> Self {
        Self::Unprivileged(Unprivileged::Pool(user))
    }
}

/// A single daemon operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Operation {
    /// Run git with these arguments, without hooks, prompts and external transports.
    Git {
        /// Arguments, without the program.
        args: Vec<String>,
        /// Path of the folder.
        cwd: String,
        /// The one-shot credential file is offered to the code host.
        has_credential: bool,
    },
    /// Run a command from the command table.
    TableCommand {
        /// Who runs it, never root.
        user: Unprivileged,
        /// The command to run.
        command: TableCommand,
        /// Path of the folder.
        cwd: String,
    },
    /// Run a caller's command. Full streams go to files; heads are returned.
    ExecCommand {
        /// Who runs it, never root.
        user: PoolUser,
        /// The command to run.
        command: ExecCommand,
        /// Path of the folder.
        cwd: String,
        /// How many bytes of each stream are returned.
        head_bytes: usize,
    },
    /// Create a folder with these permissions.
    MakeDir {
        /// Path in the container.
        path: String,
        /// Permissions as mode bits.
        mode: u32,
        /// Who will own it.
        owner: User,
    },
    /// Remove a folder and everything in it.
    RemoveTree {
        /// Path in the container.
        path: String,
    },
    /// Move a folder into the trash, which is deleted after the answer. Only root reaches it there.
    DiscardTree {
        /// Path in the container.
        path: String,
    },
    /// Wait until everything in the trash is deleted.
    EmptyTrash,
    /// Change who owns a folder and everything in it.
    ChangeOwner {
        /// Path in the container.
        path: String,
        /// Who will own it.
        owner: User,
    },
    /// Link a store entry's dependencies into a tree. Files stay read-only; tool caches become
    /// copies.
    LinkDeps {
        /// The store entry's key.
        key: LockfileKey,
        /// Path of the tree.
        tree: String,
        /// Who owns the folders.
        owner: User,
    },
    /// Move the spare tree to a thread tree's place, which does not exist.
    TakeSpare {
        /// Path of the tree.
        tree: String,
    },
    /// Make the spare tree ready to be taken, once the files are complete. The index gets the
    /// files' current times, so that the first git call in the tree does not read them all.
    RefreshSpare {
        /// Who owns the tree.
        owner: User,
    },
    /// Copy the checkout's build results, which tools rewrite in place.
    CopyBuilds {
        /// Path of the tree.
        tree: String,
        /// Who will own it.
        owner: User,
    },
    /// Write a file through the user's staging file. The content is never an argument.
    WriteFile {
        /// Path in the container.
        path: String,
        /// Permissions as mode bits.
        mode: u32,
    },
    /// Read a file's head.
    ReadFile {
        /// Path in the container.
        path: String,
        /// Maximum characters to read.
        max_chars: usize,
    },
    /// Write a tree's credential file, and the git setting that names it.
    WriteCredential {
        /// Path of the tree.
        tree: String,
    },
    /// Report whether a tree has a credential file, and since when.
    CheckCredential {
        /// Path of the tree.
        tree: String,
    },
    /// Remove a tree's credential file and helper.
    ScrubCredential {
        /// Path of the tree.
        tree: String,
    },
    /// Report a tree's changes, untracked files and unpushed commits.
    CheckTree {
        /// Path of the tree.
        tree: String,
        /// Tip of the tree's ref in the mirror, which `HEAD` should contain.
        tip: Option<Sha>,
    },
    /// Commit the working tree, without ignored files, below `refs/ars` in the mirror. The index is
    /// unchanged.
    Checkpoint {
        /// Path of the tree.
        tree: String,
    },
    /// Bring a commit from a tree into the mirror.
    ReceiveCommit {
        /// Path of the tree.
        tree: String,
        /// The full commit id.
        sha: Sha,
    },
    /// Bring a commit from the mirror into a tree, and name it there.
    SendCommit {
        /// Path of the tree.
        tree: String,
        /// The full commit id.
        sha: Sha,
        /// The ref in the tree that names it.
        name: String,
    },
    /// Kill all of a user's processes.
    KillUser {
        /// The pool user concerned.
        user: PoolUser,
    },
    /// Kill the build user's processes in a folder.
    KillIn {
        /// Path of the folder.
        path: String,
    },
    /// Set the mirror aside, for the checkpoints.
    SetMirrorAside,
    /// Bring checkpoints from mirrors that were set aside into the new mirror, as far as they can
    /// be read.
    AdoptCheckpoints,
    /// Read the markers, the free space and the state of all trees.
    Inspect,
    /// Remove the tree's markers.
    Unmark {
        /// Also the dependency marker.
        has_deps: bool,
    },
    /// Write a tree's markers.
    Mark {
        /// The full commit id.
        sha: Sha,
        /// Key of the tree's dependencies.
        key: LockfileKey,
    },
    /// Install dependencies in a scratch checkout and commit them to the store by a rename.
    Install {
        /// The store entry's key.
        key: LockfileKey,
        /// The scratch checkout's commit.
        sha: Sha,
        /// The command to run.
        command: TableCommand,
    },
    /// Use an existing store entry, or restore it from the archive.
    AdoptDeps {
        /// The store entry's key.
        key: LockfileKey,
        /// The archive. An earlier engine version named none.
        #[serde(default)]
        backup: Option<BackupId>,
    },
    /// Remove store entries that were not used for a day.
    SweepDeps {
        /// Keys of the entries that stay.
        keep: Vec<LockfileKey>,
    },
    /// Print the lockfiles at a commit, from the mirror.
    LockfileListing {
        /// The full commit id.
        sha: Sha,
    },
    /// Wait until no stream from an older attempt writes.
    AwaitStreams,
    /// Remove mounts from older restores.
    Unmount,
    /// Archive a folder and upload the archive.
    Archive {
        /// Path of the folder.
        path: String,
        /// Top-level name that is left out.
        without: Option<String>,
    },
    /// Download an archive, extract it beside the target, and rename it last.
    Extract {
        /// Id of the archive.
        backup: BackupId,
        /// Path of the folder.
        path: String,
    },
    /// Replace a user's home by an empty home. The user's processes have ended.
    CleanHome {
        /// The pool user concerned.
        user: PoolUser,
    },
}

impl Operation {
    /// Returns the archive that the operation receives.
    pub const fn received(&self) -> Option<&BackupId> {
        match self {
            Self::Extract { backup, .. }
            | Self::AdoptDeps {
                backup: Some(backup),
                ..
            } => Some(backup),
            _ => None,
        }
    }
}

/// A step in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Name in traces and errors.
    pub name: String,
    /// The user that runs it.
    pub user: User,
    /// The operation to perform.
    pub operation: Operation,
    /// Time after which it is killed.
    pub timeout_ms: i64,
    /// It runs under the mirror lock.
    pub needs_lock: bool,
}

impl PlanStep {
    /// Makes a root step without the lock.
    pub(super) fn root(name: &str, operation: Operation) -> Self {
        Self::new(name, User::ROOT, operation)
    }

    /// Makes a step without the lock.
    pub(super) fn new(name: &str, user: User, operation: Operation) -> Self {
        Self {
            name: name.to_owned(),
            user,
            operation,
            timeout_ms: FILE_TIMEOUT_MS,
            needs_lock: false,
        }
    }

    /// Makes the step run under the mirror lock.
    pub(super) fn locked(mut self) -> Self {
        self.needs_lock = true;
        self
    }

    /// Sets the step's timeout.
    pub(super) fn within(mut self, timeout_ms: i64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }
}

/// Makes a git call.
pub(super) fn git(cwd: &str, args: &[&str]) -> Operation {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Operation::Git {
        args,
        cwd: cwd.to_owned(),
        has_credential: false,
    }
}

/// Makes a git call that may reach the code host with the one-shot credential.
pub(super) fn remote_git(cwd: &str, args: &[&str], has_credential: bool) -> Operation {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Operation::Git {
        args,
        cwd: cwd.to_owned(),
        has_credential,
    }
}

/// Makes a clone of the mirror at a branch, for a tree.
///
/// It has the code host's branches and tags, packed anew: a copy of the mirror's files would also
/// have other threads' saved work. No write reaches the mirror's objects.
pub(super) fn clone_at(branch: &StrictRefName, path: &str) -> Operation {
    git(
        MIRROR,
        &[
            "clone",
            "--no-local",
            "--branch",
            branch.as_str(),
            "--",
            MIRROR,
            path,
        ],
    )
}
