//! A mirror: a repository without settings and branches. All calls block.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use ars_resident::saved_work::NAMESPACE;
use ars_types::RunId;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::super::beneath::DIGEST_CHARS;

/// Folder for mirrors in the data directory.
const FOLDER: &str = "mirrors";
/// Permissions for a mirror.
const PRIVATE: u32 = 0o700;
/// Prefix for quarantine names.
pub(super) const QUARANTINE: &str = ".saving-";
/// Most commits that a pack is made against.
const KNOWN_MAX: usize = 16;
/// Maximum checkpoints per run. The oldest are removed.
const CHECKPOINTS_PER_RUN_MAX: usize = 32;

/// A mirror for a single origin.
#[derive(Debug, Clone)]
pub(in super::super) struct Mirror {
    folder: PathBuf,
}

/// A mirror lock, shared by everyone who saves, and held alone to remove objects.
pub(super) struct Locked {
    _folder: File,
}

/// A checkpoint in a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Stored {
    pub(in super::super) number: u64,
    pub(in super::super) commit: String,
    pub(super) at: SystemTime,
}

impl Mirror {
    /// Returns an origin's mirror, or the thread's mirror without an origin.
    pub(in super::super) fn for_origin(data: &Path, origin: Option<&str>, workspace: &str) -> Self {
        let digest = Sha256::digest(origin.unwrap_or(workspace).as_bytes());
        Self {
            folder: data.join(FOLDER).join(&hex::encode(digest)[..DIGEST_CHARS]),
        }
    }

    /// Returns all mirrors in a data directory.
    pub(super) fn all(data: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in entries(&data.join(FOLDER))? {
            found.push(Self {
                folder: entry.path(),
            });
        }
        Ok(found)
    }

    /// Makes the mirror if it is missing, and returns the folder without links.
    pub(super) fn prepare(&self) -> io::Result<PathBuf> {
        for name in ["objects/pack", "refs"] {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(self.folder.join(name))?;
        }
        let head = self.folder.join("HEAD");
        if !head.exists() {
            fs::write(head, "ref: refs/heads/none\n")?;
        }
        self.folder.canonicalize()
    }

    /// Returns the folder without links, or `None` if there is no mirror.
    pub(super) fn folder(&self) -> io::Result<Option<PathBuf>> {
        match self.folder.canonicalize() {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the object folder.
    pub(super) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// Makes a folder for a checkpoint's files before they count.
    pub(super) fn quarantine(&self) -> io::Result<TempDir> {
        let folder = self.folder.canonicalize()?;
        let made = tempfile::Builder::new()
            .prefix(QUARANTINE)
            .tempdir_in(folder)?;
        fs::create_dir(made.path().join("objects"))?;
        Ok(made)
    }

    /// Locks the mirror against object removal. Waits for a removal that has begun.
    pub(super) fn lock(&self) -> io::Result<Locked> {
        let folder = File::open(&self.folder)?;
        flock(&folder, FlockOperation::LockShared)?;
        Ok(Locked { _folder: folder })
    }

    /// Locks the mirror for removing objects, or returns `None` while it is used.
    pub(super) fn lock_alone(&self) -> io::Result<Option<Locked>> {
        let folder = File::open(&self.folder)?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Locked { _folder: folder })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a checkpoint's name.
    pub(in super::super) fn name_of(run: &RunId, number: u64) -> String {
        format!("{NAMESPACE}/{run}/{number}")
    }

    /// Returns a run's checkpoints, newest first.
    pub(in super::super) fn stored(&self, run: &str) -> io::Result<Vec<Stored>> {
        let mut found = Vec::new();
        for entry in entries(&self.folder.join(NAMESPACE).join(run))? {
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let commit = fs::read_to_string(entry.path())?.trim().to_owned();
            if let Some(number) = number.filter(|_| is_commit(&commit)) {
                found.push(Stored {
                    number,
                    commit,
                    at: entry.metadata()?.modified()?,
                });
            }
        }
        found.sort_by_key(|stored| std::cmp::Reverse(stored.number));
        Ok(found)
    }

    /// Returns whether a checkpoint is still there.
    pub(in super::super) fn has(&self, run: &RunId, number: u64, commit: &str) -> io::Result<bool> {
        let stored = self.stored(run.as_str())?;
        Ok(stored
            .iter()
            .any(|stored| stored.number == number && stored.commit == commit))
    }

    /// Returns the runs with checkpoints.
    pub(super) fn runs(&self) -> io::Result<Vec<String>> {
        let found = entries(&self.folder.join(NAMESPACE))?;
        Ok(found
            .into_iter()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }

    /// Returns commits that the mirror has with their history: the newest runs' last checkpoints.
    pub(super) fn known(&self) -> io::Result<Vec<String>> {
        let mut newest = Vec::new();
        for run in self.runs()? {
            newest.extend(self.stored(&run)?.into_iter().next());
        }
        newest.sort_by_key(|stored| std::cmp::Reverse(stored.at));
        Ok(newest
            .into_iter()
            .take(KNOWN_MAX)
            .map(|stored| stored.commit)
            .collect())
    }

    /// Moves a pack out of quarantine. It counts from then on.
    pub(super) fn adopt(&self, quarantine: &Path, pack: &str) -> io::Result<()> {
        // The index is last: without it git does not read the pack.
        for kind in ["rev", "pack", "idx"] {
            let name = format!("pack-{pack}.{kind}");
            match fs::rename(
                quarantine.join(&name),
                self.folder.join("objects/pack").join(&name),
            ) {
                // Older git versions write no reverse index.
                Err(error) if kind == "rev" && error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
        }
        Ok(())
    }

    /// Stores a checkpoint, and removes the run's oldest beyond the limit.
    pub(super) fn store(&self, run: &RunId, commit: &str) -> io::Result<u64> {
        let folder = self.folder.join(NAMESPACE).join(run.as_str());
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(&folder)?;
        let stored = self.stored(run.as_str())?;
        let number = stored.first().map_or(1, |last| last.number + 1);
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{commit}")?;
        file.persist(folder.join(number.to_string()))?;
        for old in stored.iter().skip(CHECKPOINTS_PER_RUN_MAX - 1) {
            self.remove(run.as_str(), old.number)?;
        }
        Ok(number)
    }

    /// Removes a checkpoint. The objects stay until they are swept.
    pub(super) fn remove(&self, run: &str, number: u64) -> io::Result<()> {
        fs::remove_file(
            self.folder
                .join(NAMESPACE)
                .join(run)
                .join(number.to_string()),
        )
    }

    /// Removes a run's folder without checkpoints.
    pub(super) fn forget(&self, run: &str) -> io::Result<()> {
        fs::remove_dir(self.folder.join(NAMESPACE).join(run))
    }
}

/// Returns a folder's entries; none if it is missing.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
