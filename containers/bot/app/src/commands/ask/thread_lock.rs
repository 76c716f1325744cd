//! Locks a thread across processes, because the core's claim holds only within a process. Two
//! agents in the same working tree would overwrite each other's work.

use std::{
    fs::{self, File, TryLockError},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use ars_bot_adapters::workspace::GitWorkspaces;
use ars_types::ThreadKey;

use crate::commands::Failure;

/// Holds a thread until dropped; the kernel releases it when the process is killed.
///
/// The file is removed with it, so that threads leave none.
pub struct ThreadLock {
    path: PathBuf,
    _file: File,
}

impl ThreadLock {
    /// Locks the thread, or fails if another process holds it.
    pub fn take(workspaces: &GitWorkspaces, thread: &ThreadKey) -> Result<Self, Failure> {
        let tree = workspaces.tree_of(thread);
        let place = tree.parent().unwrap_or(&tree);
        Self::at(place.with_extension("lock"))
    }

    fn at(path: PathBuf) -> Result<Self, Failure> {
        let opened = || {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            File::options().create(true).append(true).open(&path)
        };
        loop {
            let file = opened()
                .context("the thread's lock")
                .map_err(Failure::Unavailable)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, _file: file }),
                // The owner removed it after it was opened here, so another process may lock a new
                // file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::Conflict(
                        "another `ars ask` is running in this thread".into(),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(Failure::Unavailable(error.into())),
            }
        }
    }
}

impl Drop for ThreadLock {
    fn drop(&mut self) {
        // A file that stays costs only disk space.
        drop(fs::remove_file(&self.path));
    }
}

/// Returns whether the path still leads to the file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    let [open, found] = [file.metadata(), path.metadata()].map(|about| about.ok().map(identity));
    open.is_some() && open == found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_excludes_others_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workspaces/thread.lock");
        for _ in 0..2 {
            let held = ThreadLock::at(path.clone()).ok().unwrap();
            assert!(matches!(
                ThreadLock::at(path.clone()),
                Err(Failure::Conflict(_))
            ));
            drop(held);
            assert!(!path.exists());
        }
    }

    #[test]
    fn removed_file_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("thread.lock");
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        fs::write(&path, "").unwrap();
        assert!(!is_at(&file, &path));
    }
}
