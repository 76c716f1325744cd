//! Notes about threads with resident trees: `<data>/resident-threads/<digest>.json`.
//!
//! The resident has the tree and the branch. A note names that resident, so a thread stays with its
//! tree. All calls block.

use std::{
    fs::{self, DirBuilder},
    io::{self, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use ars_bot_ports::{Repository, WorkspaceError, WorkspaceRequest};
use ars_resident::names::{Resource, RunBranch, Sha};
use ars_types::{RefName, RunId, StrictRefName, ThreadKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Folder for notes in the data directory.
const FOLDER: &str = "resident-threads";
/// The folder's Unix permissions.
const PRIVATE: u32 = 0o700;
/// Largest note that is read.
const NOTE_MAX_BYTES: u64 = 64 << 10;

/// A thread's tree on a resident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    /// Name of the repository.
    pub(super) repository: String,
    /// The repository's origin, without credentials.
    pub(super) origin: String,
    /// The resident that has the tree.
    pub(super) resource: Resource,
    /// The ref that the first request named.
    #[serde(rename = "ref")]
    pub(super) git_ref: Option<StrictRefName>,
    /// The branch that the resident bound the thread to.
    pub(super) bound: StrictRefName,
    /// The commit from which the tree started.
    pub(super) base: Sha,
    /// The thread's last push.
    #[serde(default)]
    pub(super) pushed: Option<Pushed>,
    /// The thread's last checkpoint, while the tree has unsaved work.
    #[serde(default)]
    pub(super) saved: Option<Saved>,
    /// The tree has no token, and nothing is pushed from it.
    #[serde(default)]
    pub(super) is_readonly: bool,
    /// The tree was removed. Work that it had is in the checkpoint.
    pub(super) is_released: bool,
}

/// A thread's commit at the code host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pushed {
    /// The branch that was pushed.
    pub(super) branch: RunBranch,
    /// The commit that was pushed.
    pub(super) sha: Sha,
}

/// A checkpoint from a thread's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    /// The run that made it.
    pub(super) run: RunId,
    /// The checkpoint's ref name.
    #[serde(rename = "ref")]
    pub(super) git_ref: String,
    /// The checkpoint's commit id.
    pub(super) sha: Sha,
}

impl Note {
    /// Returns whether the tree was requested or bound at a ref.
    fn is_at(&self, wanted: &RefName) -> bool {
        [self.git_ref.as_ref(), Some(&self.bound)]
            .into_iter()
            .flatten()
            .any(|own| own.as_str() == wanted.as_str())
    }

    /// Returns the repository that the note names.
    pub(super) fn repository(&self) -> Repository {
        Repository {
            name: self.repository.clone(),
            origin: self.origin.clone(),
        }
    }

    /// Rejects a request for another repository or ref than the tree's, as a local tree does.
    pub(super) fn must_fit(
        &self,
        request: WorkspaceRequest<'_>,
        origin: Option<&str>,
    ) -> Result<(), WorkspaceError> {
        let refused = |works_on: &str, other: &str| {
            Err(WorkspaceError::Refused(format!(
                "this thread works on {works_on}, and its tree may hold unsaved work. Use another thread for another {other}."
            )))
        };
        if origin.is_some_and(|origin| origin != self.origin) {
            return refused(&self.repository, "repository");
        }
        match request.git_ref {
            Some(wanted) if !self.is_at(wanted) => {
                refused(self.git_ref.as_ref().unwrap_or(&self.bound).as_str(), "ref")
            }
            _ => Ok(()),
        }
    }
}

/// Notes in a data directory.
#[derive(Debug, Clone)]
pub(super) struct Notes {
    folder: PathBuf,
}

impl Notes {
    pub(super) fn new(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join(FOLDER),
        }
    }

    /// Returns a thread's note.
    pub(super) fn read(&self, thread: &ThreadKey) -> Result<Option<Note>, WorkspaceError> {
        let text = match fs::File::open(self.place(thread)) {
            Ok(file) => {
                let mut text = Vec::new();
                file.take(NOTE_MAX_BYTES)
                    .read_to_end(&mut text)
                    .map_err(|error| failed(&error))?;
                text
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let damaged =
            |_| WorkspaceError::Infra("the note about the thread's resident is damaged".to_owned());
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    /// Replaces a thread's note atomically.
    pub(super) fn write(&self, thread: &ThreadKey, note: &Note) -> Result<(), WorkspaceError> {
        let text =
            serde_json::to_vec(note).map_err(|error| WorkspaceError::Infra(error.to_string()))?;
        let write = || {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(&self.folder)?;
            let file = tempfile::NamedTempFile::new_in(&self.folder)?;
            fs::write(file.path(), text)?;
            file.persist(self.place(thread)).map_err(io::Error::from)
        };
        write().map(drop).map_err(|error| failed(&error))
    }

    /// Removes the note when a thread has no resident.
    pub(super) fn remove(&self, thread: &ThreadKey) -> Result<(), WorkspaceError> {
        match fs::remove_file(self.place(thread)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    fn place(&self, thread: &ThreadKey) -> PathBuf {
        self.folder.join(format!(
            "{}.json",
            hex::encode(Sha256::digest(thread.as_str()))
        ))
    }
}

fn failed(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(format!("the note about the thread's resident: {error}"))
}
