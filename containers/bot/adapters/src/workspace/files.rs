//! Reads and writes files beneath the tree.
//!
//! `cap-std` resolves every path, on Linux in the kernel (`openat2` with `RESOLVE_BENEATH`): a
//! symlink or `..` that leads out is rejected when opened, so no race can swap a link in
//! afterwards. Symlinks that stay inside are followed; a write replaces or creates the target and
//! keeps the link.

use std::{
    ffi::OsStr,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use ars_bot_ports::WorkspaceError;
use cap_std::fs::{Dir, DirEntry, File, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};

/// Opening a FIFO or device must not wait for the other end.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// How many consecutive links to a missing file are followed.
const LINKS_MAX: usize = 8;
/// The owner's rights to read, change and enter a folder.
const OWNERS_RIGHTS: u32 = 0o700;
/// A symlink cycle; the standard library has no stable name for it.
const LINK_LOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();
/// A socket or a device without a driver was opened.
const NO_DEVICE: i32 = rustix::io::Errno::NXIO.raw_os_error();

/// Distinguishes temporary file names within the process.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The tree, opened once.
pub(super) struct Files {
    root: PathBuf,
    dir: Dir,
}

impl Files {
    /// Returns the files in an opened tree. `root` is the path, without links.
    pub(super) fn new(root: PathBuf, tree: OwnedFd) -> Self {
        Self {
            root,
            dir: Dir::from_std_file(tree.into()),
        }
    }

    /// Returns the tree's folder.
    pub(super) fn folder(&self) -> &Dir {
        &self.dir
    }

    /// Returns whether the owner has rights in the tree's folder and those git always needs.
    pub(super) fn are_usable(&self) -> bool {
        let has_rights = |mode: u32| mode & OWNERS_RIGHTS == OWNERS_RIGHTS;
        let own = self
            .dir
            .dir_metadata()
            .is_ok_and(|tree| has_rights(tree.permissions().mode()));
        own && [".git", ".git/objects", ".git/refs"]
            .into_iter()
            .all(|name| match self.dir.symlink_metadata(name) {
                Ok(found) => !found.is_dir() || has_rights(found.permissions().mode()),
                Err(error) => matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ),
            })
    }

    /// Returns a caller's path relative to the tree. Absolute paths are accepted inside the tree only.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        if path.is_empty() {
            return Err(WorkspaceError::Refused("the path must not be empty".into()));
        }
        if path.contains('\0') {
            return Err(WorkspaceError::Refused(
                "the path must not contain a zero byte".into(),
            ));
        }
        let path = Path::new(path);
        let inner = if path.is_absolute() {
            path.strip_prefix(&self.root).ok()
        } else {
            Some(path)
        };
        let inner = inner.ok_or_else(|| escape(path))?;
        let kept: PathBuf = inner
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect();
        Ok(if kept.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            kept
        })
    }

    /// Returns at most `limit` bytes from a regular file, and the full size.
    pub(super) fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        let relative = self.relative(path)?;
        let (file, size) = self.open_regular(&relative)?;
        let mut content = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0));
        file.take(limit)
            .read_to_end(&mut content)
            .map_err(|error| classify(&relative, &error))?;
        let size = size.max(content.len() as u64);
        Ok((content, size))
    }

    /// Opens a regular file and never blocks on other kinds.
    pub(super) fn open_regular(&self, relative: &Path) -> Result<(File, u64), WorkspaceError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NONBLOCK);
        let file = self
            .dir
            .open_with(relative, &options)
            .map_err(|error| classify(relative, &error))?;
        let metadata = file
            .metadata()
            .map_err(|error| classify(relative, &error))?;
        if metadata.is_dir() {
            return Err(WorkspaceError::Refused(format!(
                "{} is a directory",
                relative.display()
            )));
        }
        if !metadata.is_file() {
            return Err(WorkspaceError::Refused(format!(
                "{} is not a regular file",
                relative.display()
            )));
        }
        Ok((file, metadata.len()))
    }

    /// Returns an existing path's target, with symlinks and `..` followed inside the tree.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let relative = self.relative(path)?;
        let resolved = self
            .dir
            .canonicalize(&relative)
            .map_err(|error| classify(&relative, &error))?;
        Ok(if resolved.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            resolved
        })
    }

    /// Returns a folder's entries and which are folders, or `None` when the path is no readable folder.
    pub(super) fn entries(&self, folder: &Path) -> Option<Vec<(PathBuf, bool)>> {
        let entries = self.dir.read_dir(folder).ok()?.flatten();
        let within = folder.strip_prefix(".").unwrap_or(folder);
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        Some(
            entries
                .map(|entry| (within.join(entry.file_name()), is_folder(&entry)))
                .collect(),
        )
    }

    /// Returns the size of a file or a link, without following the link; `None` for other kinds.
    pub(super) fn listed_size(&self, relative: &Path) -> Option<u64> {
        let metadata = self.dir.symlink_metadata(relative).ok()?;
        (metadata.is_file() || metadata.is_symlink()).then(|| metadata.len())
    }

    /// Replaces a file atomically: a temporary file in the same directory, then a rename.
    pub(super) fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        let relative = self.relative(path)?;
        not_gits_own(&relative)?;
        let failed = |error: io::Error| classify(&relative, &error);
        if let Some(parent) = relative
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            match self.dir.open_dir(parent) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.dir.create_dir_all(parent).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let target = self.target(&relative)?;
        let name = target
            .file_name()
            .ok_or_else(|| WorkspaceError::Refused(format!("{path} is a directory")))?;
        let parent = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let parent = self.dir.open_dir(parent).map_err(failed)?;
        let existing = parent.metadata(name).ok();
        if existing
            .as_ref()
            .is_some_and(|metadata| !metadata.is_file())
        {
            return Err(WorkspaceError::Refused(format!(
                "{path} is not a regular file"
            )));
        }
        let temporary = format!(
            ".ars-{}-{}",
            std::process::id(),
            TEMPORARY.fetch_add(1, Ordering::Relaxed)
        );
        let written = write_new(&parent, &temporary, content)
            .and_then(|file| match &existing {
                Some(metadata) => file.set_permissions(metadata.permissions()),
                None => Ok(()),
            })
            .and_then(|()| parent.rename(&temporary, &parent, name));
        written.map_err(|error| {
            // Incomplete content is never left behind.
            let _ = parent.remove_file(&temporary);
            failed(error)
        })
    }

    /// Returns a write's target, with symlinks followed inside the tree. Git's own files are
    /// rejected, because git would act on them later.
    fn target(&self, relative: &Path) -> Result<PathBuf, WorkspaceError> {
        let failed = |error: io::Error| classify(relative, &error);
        let mut path = relative.to_path_buf();
        for _ in 0..LINKS_MAX {
            let target = match self.dir.canonicalize(&path) {
                Ok(target) => target,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let parent = path
                        .parent()
                        .filter(|parent| !parent.as_os_str().is_empty());
                    let parent = parent.unwrap_or(Path::new("."));
                    // A link to a missing file stays, and the file is made.
                    if let Ok(linked) = self.dir.read_link(&path) {
                        path = parent.join(linked);
                        continue;
                    }
                    let name = path.file_name().ok_or_else(|| escape(&path))?;
                    self.dir.canonicalize(parent).map_err(failed)?.join(name)
                }
                Err(error) => return Err(failed(error)),
            };
            not_gits_own(&target)?;
            return Ok(target);
        }
        Err(failed(io::Error::from_raw_os_error(LINK_LOOP)))
    }
}

/// Returns whether a name means git's own folder, also on case-insensitive file systems.
pub(super) fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Rejects a path into git's own files, in the tree's repository and in any inside the tree.
fn not_gits_own(path: &Path) -> Result<(), WorkspaceError> {
    if path.components().any(|part| is_git(part.as_os_str())) {
        return Err(WorkspaceError::Refused(
            "files under .git are git's own: use git commands".into(),
        ));
    }
    Ok(())
}

fn write_new(parent: &Dir, name: &str, content: &[u8]) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = parent.open_with(name, &options)?;
    file.write_all(content)?;
    Ok(file)
}

fn escape(path: &Path) -> WorkspaceError {
    WorkspaceError::PathEscape(path.display().to_string())
}

/// Classifies an error.
/// `cap-std` reports a path that leads out as a permission error without an OS error code.
fn classify(path: &Path, error: &io::Error) -> WorkspaceError {
    use io::ErrorKind as Kind;
    let message = || format!("{}: {error}", path.display());
    match error.kind() {
        Kind::NotFound => WorkspaceError::NotFound(path.display().to_string()),
        Kind::PermissionDenied if error.raw_os_error().is_none() => escape(path),
        // Errors that another path, or another moment, would avoid.
        Kind::PermissionDenied
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::AlreadyExists
        | Kind::DirectoryNotEmpty
        | Kind::InvalidFilename
        | Kind::InvalidInput
        | Kind::FileTooLarge
        | Kind::ResourceBusy
        | Kind::ExecutableFileBusy
        | Kind::Interrupted
        | Kind::WouldBlock => WorkspaceError::Refused(message()),
        _ if error.raw_os_error() == Some(LINK_LOOP) || error.raw_os_error() == Some(NO_DEVICE) => {
            WorkspaceError::Refused(message())
        }
        _ => WorkspaceError::Infra(message()),
    }
}
