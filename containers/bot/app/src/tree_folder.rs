//! The working tree folder that `workspaceDir` names, and the lock.
//!
//! The trees' metadata and the live runs are in the data directory. Processes with two data
//! directories would evict and set aside each other's trees in the same folder, so a single process
//! at a time runs requests in it.

use std::{
    fs::{DirBuilder, File},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

use anyhow::Context as _;

use crate::{commands::Failure, lock::exclusive};

/// Mode for a new folder: this user only.
const PRIVATE: u32 = 0o700;

/// Holds the folder until dropped; the kernel releases it when the process is killed.
pub struct TreeFolderLock {
    _folder: File,
}

impl TreeFolderLock {
    /// Makes the folder if needed and locks it, or fails if another process holds it.
    pub fn take(folder: &Path) -> Result<Self, Failure> {
        let place = folder.display();
        let opened = || {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(folder)?;
            File::open(folder)
        };
        let opened = opened().with_context(|| format!("workspaceDir: {place} cannot be used"));
        let opened = opened.map_err(Failure::Unavailable)?;
        let busy = || {
            format!(
                "workspaceDir: another process uses {place}: wait for its end, or name another folder"
            )
        };
        exclusive(&opened, busy, || {
            format!("workspaceDir: {place} cannot be locked")
        })?;
        Ok(Self { _folder: opened })
    }
}
