//! A workspace's origin, stored apart from everything commands can change:
//! `<data>/meta/<digest>.json`.
//!
//! Every file is opened beneath the data directory without following a link and without waiting for
//! a FIFO's other end, and only a regular file with a bounded size is read. All calls block.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use ars_bot_ports::{WorkspaceError, WorkspaceRequest};
use rustix::{
    fs::{FileType, Mode, OFlags, fstat, mkdirat, openat2},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{
    beneath::{BENEATH, open_folder, open_root},
    checkpoint::Saved,
    disk::infra,
    environment::TEMPORARY,
    in_use::InUse,
    rights,
};
use crate::logins::without_userinfo;

/// The metadata folder in the data directory.
const FOLDER: &str = "meta";
/// Largest metadata that is read.
const MAX_META_BYTES: u64 = 64 << 10;

/// Where a workspace comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// The repository's name, when there is a repository.
    pub(super) repository: Option<String>,
    /// The clone's address, without credentials.
    pub(super) origin: Option<String>,
    /// The requested ref.
    #[serde(rename = "ref")]
    pub(super) git_ref: Option<String>,
    /// Commit that the tree started from.
    pub(super) base: Option<String>,
    /// The branch that the thread's commits were last pushed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
    /// The tree's last checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint: Option<Saved>,
    /// The tree was clean and was removed to free the disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) evicted: bool,
}

impl Meta {
    /// Reads a workspace's metadata; `None` without a workspace.
    pub(super) fn read(data: &Path, name: &str) -> Result<Option<Self>, WorkspaceError> {
        let text =
            read_regular(&data.join(FOLDER), &file_name(name)).map_err(|error| infra(&error))?;
        let Some(text) = text else {
            return Ok(None);
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|_| WorkspaceError::Infra("the workspace's metadata is damaged".into()))
    }

    /// Stores the metadata atomically.
    pub(super) fn write(&self, data: &Path, name: &str) -> Result<(), WorkspaceError> {
        let text =
            serde_json::to_vec(self).map_err(|error| WorkspaceError::Infra(error.to_string()))?;
        let folder = data.join(FOLDER);
        let write = || {
            std::fs::create_dir_all(&folder)?;
            let file = tempfile::NamedTempFile::new_in(&folder)?;
            std::fs::write(file.path(), text)?;
            file.persist(folder.join(file_name(name)))
                .map_err(io::Error::from)
        };
        write().map(drop).map_err(|error| infra(&error))
    }

    /// Stores the branch that the thread's commits were pushed to.
    pub(super) fn set_branch(
        data: &Path,
        name: &str,
        branch: String,
    ) -> Result<(), WorkspaceError> {
        match Self::read(data, name)? {
            Some(meta) => Self {
                branch: Some(branch),
                ..meta
            }
            .write(data, name),
            None => Ok(()),
        }
    }

    /// Stores the tree's last checkpoint.
    pub(super) fn set_checkpoint(
        data: &Path,
        name: &str,
        checkpoint: Saved,
    ) -> Result<(), WorkspaceError> {
        match Self::read(data, name)? {
            Some(meta) => Self {
                checkpoint: Some(checkpoint),
                ..meta
            }
            .write(data, name),
            None => Ok(()),
        }
    }

    /// Rejects a follow-up with another repository or ref than the tree's.
    /// Replacing the tree could lose unsaved work, and ignoring the difference would change the wrong tree.
    pub(super) fn must_fit(&self, request: WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        let refused = |works_on: &str, other: &str| {
            Err(WorkspaceError::Refused(format!(
                "this thread works on {works_on}, and its tree may hold unsaved work. Use another thread for another {other}."
            )))
        };
        if let Some(wanted) = request.repository
            && self.origin.as_deref() != Some(&without_userinfo(&wanted.origin))
        {
            return refused(
                self.repository.as_deref().unwrap_or("no repository"),
                "repository",
            );
        }
        if let Some(wanted) = request.git_ref
            && self.git_ref.as_deref() != Some(wanted.as_str())
        {
            return refused(
                self.git_ref
                    .as_deref()
                    .unwrap_or("its repository's default ref"),
                "ref",
            );
        }
        Ok(())
    }
}

/// Opens a workspace's tree for a user and makes the temporary folder. `None` if the tree is
/// missing, or if any part of the path is a link.
pub(super) fn open_tree(root: &Path, name: &str) -> io::Result<Option<(OwnedFd, InUse)>> {
    let Some(place) = InUse::lock(root, name)? else {
        return Ok(None);
    };
    match mkdirat(&place, TEMPORARY, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let open = || open_folder(&place, Path::new("tree"), OFlags::RDONLY);
    let tree = match open() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rights::let_open(&place)?;
            open()?
        }
        opened => opened?,
    };
    Ok(tree.map(|tree| (tree, place)))
}

fn read_regular(root: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(root) = open_root(root)? else {
        return Ok(None);
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat2(&root, path, flags, Mode::empty(), BENEATH) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = Vec::new();
    File::from(file)
        .take(MAX_META_BYTES + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > MAX_META_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    Ok(Some(text))
}

fn file_name(name: &str) -> PathBuf {
    format!("{name}.json").into()
}
