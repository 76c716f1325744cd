//! Collects a scratch checkout's installed dependency folders.

use std::{
    ffi::OsStr,
    fs,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, mkdirat, renameat};
use rustix::io::Errno;

use crate::{
    failure::{Context as _, Result},
    places::open_beneath,
    stop::Stop,
    walk::{entries, type_of},
};

/// Name of dependency folders. A package in a workspace has its own.
pub(crate) const NODE_MODULES: &str = "node_modules";

/// Returns the outermost dependency folders' paths below `folder`.
pub(crate) fn find(folder: &OwnedFd, stop: &Stop) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from(".")];
    while let Some(path) = pending.pop() {
        stop.check()?;
        let current = open_beneath(folder, &path).context("deps")?;
        for (name, stat) in entries(&current)? {
            let name = OsStr::from_bytes(name.to_bytes());
            match type_of(&stat) {
                FileType::Directory if name == NODE_MODULES => found.push(path.join(name)),
                FileType::Directory if name != ".git" => pending.push(path.join(name)),
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Moves the dependency folders from `scratch` to the same paths in the empty folder `target`.
/// Returns their number.
pub(crate) fn collect(scratch: &OwnedFd, target: &OwnedFd, stop: &Stop) -> Result<usize> {
    let found = find(scratch, stop)?;
    for path in &found {
        let parent = path.parent().unwrap_or(Path::new("."));
        make_parents(target, parent)?;
        let from = open_beneath(scratch, parent).context("deps")?;
        let to = open_beneath(target, parent).context("deps")?;
        renameat(&from, NODE_MODULES, &to, NODE_MODULES).context("deps")?;
    }
    Ok(found.len())
}

fn make_parents(target: &OwnedFd, parent: &Path) -> Result<()> {
    let mut path = PathBuf::from(".");
    for part in parent.components().skip(1) {
        let folder = open_beneath(target, &path).context("deps")?;
        match mkdirat(&folder, part.as_os_str(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => path.push(part),
            Err(error) => return Err(error).context("deps"),
        }
    }
    Ok(())
}

/// Creates an empty folder that the daemon's own user owns.
pub(crate) fn create(path: &Path) -> Result<OwnedFd> {
    fs::create_dir(path).context("deps")?;
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).context("deps")
}
