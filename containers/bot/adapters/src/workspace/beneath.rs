//! Opens data directory and workspace folders without following links.
//!
//! All calls block.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// The default workspace folder, in the data directory.
pub const WORKSPACES: &str = "workspaces";
/// Characters in a folder name's digest: 128 bits.
pub(super) const DIGEST_CHARS: usize = 32;

/// Opens a folder beneath another. `None` if it is missing, or if any part of the path is a link.
pub(super) fn open_folder(
    within: &impl AsFd,
    path: &Path,
    access: OFlags,
) -> io::Result<Option<OwnedFd>> {
    let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(within, path, flags, Mode::empty(), BENEATH) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Paths stay beneath the opened folder and have no links.
pub(super) const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Opens the data directory or the workspace folder; `None` if there is none yet. The operator
/// chose the path.
pub(super) fn open_root(path: &Path) -> io::Result<Option<OwnedFd>> {
    match openat(
        CWD,
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
