//! A lock on a thread across processes, because the core's claim holds within one process only.
//! Two agents in one working tree would overwrite each other's work.

use std::fs::{self, File, TryLockError};

use anyhow::Context as _;
use ars_bot_adapters::workspace::GitWorkspaces;
use ars_types::ThreadKey;

use crate::commands::Failure;

/// Holds a thread until dropped; the kernel releases it when the process is killed.
pub struct ThreadLock {
    _file: File,
}

impl ThreadLock {
    /// Locks the thread, or fails if another process holds it.
    pub fn take(workspaces: &GitWorkspaces, thread: &ThreadKey) -> Result<Self, Failure> {
        let tree = workspaces.tree_of(thread);
        let place = tree.parent().unwrap_or(&tree);
        let opened = || {
            fs::create_dir_all(place.parent().unwrap_or(place))?;
            File::options().create(true).append(true).open(place.with_extension("lock"))
        };
        let file = opened().context("the thread's lock").map_err(Failure::Unavailable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::Conflict("another `ars ask` is running in this thread".into()))
            }
            Err(TryLockError::Error(error)) => Err(Failure::Unavailable(error.into())),
        }
    }
}
