//! The vocabulary of plans.

use ars_types::StrictRefName;
use serde::{Deserialize, Serialize};

use crate::layout::MIRROR;
use crate::names::{BackupId, ExecCommand, LockfileKey, Sha, TableCommand};
use crate::pool::PoolUser;

/// Time in which a short step ends.
pub(super) const FILE_TIMEOUT_MS: i64 = 60_000;
/// Time in which a call of git on the network ends.
pub(super) const FETCH_TIMEOUT_MS: i64 = 300_000;

/// A user for commands of repositories and callers. It is never root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unprivileged {
    /// The build user.
    Build,
    /// A user of the pool.
    Pool(PoolUser),
}

/// Root, for work of the daemon outside of trees that others can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root;

/// The user of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum User {
    /// The daemon's own user.
    Root(Root),
    /// Any other.
    Unprivileged(Unprivileged),
}

impl User {
    /// The daemon's own user.
    pub const ROOT: Self = Self::Root(Root);
    /// The build user.
    pub const BUILD: Self = Self::Unprivileged(Unprivileged::Build);

    /// Returns a user of the pool.
    pub const fn pool(user: PoolUser) -> Self {
        Self::Unprivileged(Unprivileged::Pool(user))
    }
}

/// One operation of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Operation {
    /// Run git with these arguments, without hooks, prompts and external transports.
    Git {
        /// Arguments, without the program.
        args: Vec<String>,
        /// Folder.
        cwd: String,
        /// The one-shot credential file is offered to the code host.
        has_credential: bool,
    },
    /// Run a command of the command table.
    TableCommand {
        /// Its user, never root.
        user: Unprivileged,
        /// The command.
        command: TableCommand,
        /// Folder.
        cwd: String,
    },
    /// Run a command of a caller. Full streams go to files; heads are returned.
    ExecCommand {
        /// Its user.
        user: PoolUser,
        /// The command.
        command: ExecCommand,
        /// Folder.
        cwd: String,
        /// Bytes of each stream that are returned.
        head_bytes: usize,
    },
    /// Create a folder.
    MakeDir {
        /// Path.
        path: String,
        /// Permissions.
        mode: u32,
        /// Owner.
        owner: User,
    },
    /// Remove a folder with its content.
    RemoveTree {
        /// Path.
        path: String,
    },
    /// Move a folder into the trash, which is deleted after the answer. Only root reaches it there.
    DiscardTree {
        /// Path.
        path: String,
    },
    /// Wait until everything in the trash is deleted.
    EmptyTrash,
    /// Change the owner of a folder and its content.
    ChangeOwner {
        /// Path.
        path: String,
        /// Owner.
        owner: User,
    },
    /// Link the dependencies of a store entry into a tree. Files stay read-only; tool caches become copies.
    LinkDeps {
        /// Key of the entry.
        key: LockfileKey,
        /// Tree.
        tree: String,
        /// Owner of the folders.
        owner: User,
    },
    /// Move the spare tree to the place of a thread's tree, which does not exist.
    TakeSpare {
        /// Tree.
        tree: String,
    },
    /// Make the spare tree ready to be taken, once its files are complete.
    /// Its index gets their current times, so that the first call of git in the tree does not read them all.
    RefreshSpare {
        /// Owner of the tree.
        owner: User,
    },
    /// Copy build results of the checkout, which tools rewrite in place.
    CopyBuilds {
        /// Tree.
        tree: String,
        /// Owner.
        owner: User,
    },
    /// Write a file through a staging file of the user. The content is never an argument.
    WriteFile {
        /// Path.
        path: String,
        /// Permissions.
        mode: u32,
    },
    /// Read the head of a file.
    ReadFile {
        /// Path.
        path: String,
        /// Characters.
        max_chars: usize,
    },
    /// Write the credential file of a tree, and the setting of git that names it.
    WriteCredential {
        /// Tree.
        tree: String,
    },
    /// Report whether a tree has a credential file, and since when.
    CheckCredential {
        /// Tree.
        tree: String,
    },
    /// Remove the credential file and the helper of a tree.
    ScrubCredential {
        /// Tree.
        tree: String,
    },
    /// Report changes, untracked files and unpushed commits of a tree.
    CheckTree {
        /// Tree.
        tree: String,
        /// Tip of its ref in the mirror, which `HEAD` should contain.
        tip: Option<Sha>,
    },
    /// Commit the working tree, without its ignored files, below `refs/ars` of the mirror.
    /// The index is unchanged.
    Checkpoint {
        /// Tree.
        tree: String,
    },
    /// Bring a commit of a tree into the mirror.
    ReceiveCommit {
        /// Tree.
        tree: String,
        /// Commit.
        sha: Sha,
    },
    /// Bring a commit of the mirror into a tree, and name it there.
    SendCommit {
        /// Tree.
        tree: String,
        /// Commit.
        sha: Sha,
        /// The ref of the tree that names it.
        name: String,
    },
    /// Kill all processes of a user.
    KillUser {
        /// The user.
        user: PoolUser,
    },
    /// Kill processes of the build user in a folder.
    KillIn {
        /// Folder.
        path: String,
    },
    /// Set the mirror aside, for its checkpoints.
    SetMirrorAside,
    /// Bring the checkpoints of mirrors that were set aside into the new one, as far as they can be read.
    AdoptCheckpoints,
    /// Read the markers, the free space and the state of all trees.
    Inspect,
    /// Remove markers.
    Unmark {
        /// Also the marker of the dependencies.
        has_deps: bool,
    },
    /// Write the markers of a tree.
    Mark {
        /// Commit.
        sha: Sha,
        /// Key of its dependencies.
        key: LockfileKey,
    },
    /// Install dependencies in a scratch checkout and commit them to the store by a rename.
    Install {
        /// Key of the entry.
        key: LockfileKey,
        /// Commit of the scratch checkout.
        sha: Sha,
        /// The command.
        command: TableCommand,
    },
    /// Use a store entry that is there, or restore it from its archive.
    AdoptDeps {
        /// Key of the entry.
        key: LockfileKey,
        /// The archive. An earlier version of the engine named none.
        #[serde(default)]
        backup: Option<BackupId>,
    },
    /// Remove store entries that were not used for a day.
    SweepDeps {
        /// Keys of entries that stay.
        keep: Vec<LockfileKey>,
    },
    /// Print the lockfiles at a commit, from the mirror.
    LockfileListing {
        /// Commit.
        sha: Sha,
    },
    /// Wait until no stream of an older attempt writes.
    AwaitStreams,
    /// Remove mounts of older restores.
    Unmount,
    /// Archive a folder and upload the archive.
    Archive {
        /// Folder.
        path: String,
        /// Top-level name that is left out.
        without: Option<String>,
    },
    /// Download an archive, extract it beside its place, and rename it last.
    Extract {
        /// The archive.
        backup: BackupId,
        /// Folder.
        path: String,
    },
    /// Replace a user's home by an empty one. Its processes have ended.
    CleanHome {
        /// The user.
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

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Name in traces and errors.
    pub name: String,
    /// User.
    pub user: User,
    /// Operation.
    pub operation: Operation,
    /// Time after which it is killed.
    pub timeout_ms: i64,
    /// It runs under the lock of the mirror.
    pub needs_lock: bool,
}

impl PlanStep {
    /// Makes a step of root without the lock.
    pub(super) fn root(name: &str, operation: Operation) -> Self {
        Self::of(name, User::ROOT, operation)
    }

    /// Makes a step without the lock.
    pub(super) fn of(name: &str, user: User, operation: Operation) -> Self {
        Self {
            name: name.to_owned(),
            user,
            operation,
            timeout_ms: FILE_TIMEOUT_MS,
            needs_lock: false,
        }
    }

    /// Makes the step run under the lock of the mirror.
    pub(super) fn locked(mut self) -> Self {
        self.needs_lock = true;
        self
    }

    /// Sets the timeout.
    pub(super) fn within(mut self, timeout_ms: i64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }
}

/// Makes a call of git.
pub(super) fn git(cwd: &str, args: &[&str]) -> Operation {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Operation::Git {
        args,
        cwd: cwd.to_owned(),
        has_credential: false,
    }
}

/// Makes a call of git that may reach the code host with the one-shot credential.
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
/// It has the branches and tags of the code host, packed anew: a copy of the mirror's files would also have the saved work
/// of other threads. No write reaches the mirror's objects.
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
