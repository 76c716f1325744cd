//! Locks a data directory with its own stores: a single `ars serve` at a time uses it.
//!
//! Not here: the working tree folder that `workspaceDir` names (`tree_folder.rs`), and `ars ask`
//! threads.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use anyhow::Context as _;

use crate::{commands::Failure, lock::exclusive};

/// The lock file, which has the process number.
const FILE: &str = "serve.lock";
/// Modes for a new directory and the file: this user only.
const PRIVATE: (u32, u32) = (0o700, 0o600);

/// Holds a data directory until dropped; the kernel releases it when the process is killed.
pub struct DataDirLock {
    _file: File,
}

impl DataDirLock {
    /// Locks the directory, or fails and names the process that holds it.
    pub fn take(directory: &Path) -> Result<Self, Failure> {
        let place = directory.display();
        let path = directory.join(FILE);
        let opened = || {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE.0)
                .create(directory)?;
            OpenOptions::new()
                .create(true)
                .append(true)
                .mode(PRIVATE.1)
                .open(&path)
        };
        let unusable = || format!("the data directory {place} cannot be used");
        let mut file = opened()
            .with_context(unusable)
            .map_err(Failure::Unavailable)?;
        let busy = || {
            // The number is a courtesy.
            let owner = fs::read_to_string(&path).unwrap_or_default();
            let owner = owner.trim();
            let owner = if owner.is_empty() {
                String::new()
            } else {
                format!(" (process {owner})")
            };
            format!(
                "the data directory {place} is in use by another `ars serve`{owner}: stop it, or choose another one \
                 with --data-dir"
            )
        };
        exclusive(&file, busy, unusable)?;
        let written = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written
            .with_context(unusable)
            .map_err(Failure::Unavailable)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_is_refused_with_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let held = DataDirLock::take(&path).ok().unwrap();
        let Err(Failure::Conflict(text)) = DataDirLock::take(&path) else {
            panic!("it is held")
        };
        assert!(
            text.contains(&format!("(process {})", std::process::id())),
            "{text}"
        );
        drop(held);
        assert!(DataDirLock::take(&path).is_ok());
    }
}
