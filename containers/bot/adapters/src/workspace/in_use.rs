//! The lock by which a workspace's users and eviction exclude each other, across processes.
//!
//! It is a kernel lock on the workspace's own folder, which commands cannot change. Users share it,
//! an eviction needs it alone. The folder's change time is the last-use time.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    time::SystemTime,
};

use rustix::{
    fs::{AtFlags, FlockOperation, OFlags, Stat, flock, fstat, statat},
    io::Errno,
};

use super::beneath::{open_folder, open_root};

/// A workspace's folder that cannot be evicted while this exists.
pub(super) struct InUse(OwnedFd);

/// A workspace's folder without a user.
pub(super) struct Unused(OwnedFd);

impl InUse {
    /// Locks a workspace's folder for a user. `None` if there is no folder.
    /// Waits for an eviction that has begun, which takes as long as a rename.
    pub(super) fn lock(root: &Path, name: &str) -> io::Result<Option<Self>> {
        loop {
            let Some((root, place)) = open(root, name)? else {
                return Ok(None);
            };
            flock(&place, FlockOperation::LockShared)?;
            // An eviction may have moved the folder before this lock.
            if is_at(&root, name, &place)? {
                return Ok(Some(Self(place)));
            }
        }
    }

    /// Notes that the workspace is used.
    pub(super) fn touch(&self) -> io::Result<()> {
        File::from(self.0.try_clone()?).set_modified(SystemTime::now())
    }
}

impl AsFd for InUse {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Unused {
    /// Locks a workspace's folder against users. `None` if there is no folder, or if it has a user.
    pub(super) fn lock(root: &Path, name: &str) -> io::Result<Option<Self>> {
        let Some((root, place)) = open(root, name)? else {
            return Ok(None);
        };
        match flock(&place, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(is_at(&root, name, &place)?.then_some(Self(place))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns when the workspace was last used.
    pub(super) fn used_at(&self) -> io::Result<SystemTime> {
        File::from(self.0.try_clone()?).metadata()?.modified()
    }
}

fn open(root: &Path, name: &str) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
    let Some(root) = open_root(root)? else {
        return Ok(None);
    };
    let place = open_folder(&root, Path::new(name), OFlags::RDONLY)?;
    Ok(place.map(|place| (root, place)))
}

/// Returns whether a name leads to this folder.
fn is_at(root: &OwnedFd, name: &str, place: &OwnedFd) -> io::Result<bool> {
    let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
    match statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(identity(found) == identity(fstat(place)?)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
