//! Walks over trees that other users may change at the same time: copies, hard links, owners.
//!
//! Each folder is opened beneath the base and without links, so no walk leaves it. A single folder
//! is open at a time, so only the path length bounds a tree's depth. Sockets, pipes and devices are
//! left out.

use std::{
    ffi::CStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fchmod, fchown, linkat, mkdirat,
    openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

use crate::{
    failure::{Context as _, Result},
    places::open_beneath,
    stop::Stop,
    users::Owner,
};

/// Permission bits that a copy keeps: no set-user and set-group bits.
const PERMISSIONS: u32 = 0o777;

/// Decides by the path in the copied folder whether a file is linked.
pub(crate) type LinkRule = fn(&Path) -> bool;

/// Copies a folder's content.
pub(crate) struct Copy<'a> {
    /// Owner for what is created. `None` keeps the daemon's own user.
    pub(crate) owner: Option<Owner>,
    /// Files that become hard links. `None` copies all.
    pub(crate) links: Option<LinkRule>,
    /// Copies can be written by their owner.
    pub(crate) is_writable: bool,
    pub(crate) stop: &'a Stop,
}

/// What a copy did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Copied {
    /// Files that could not be linked and were copied.
    pub(crate) unlinked: u64,
}

/// Returns a folder's entries, without itself and the parent.
pub(crate) fn entries(folder: impl AsFd) -> Result<Vec<(std::ffi::CString, Stat)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder).context("folder")? {
        let entry = entry.context("folder")?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => found.push((name.to_owned(), stat)),
            // It was removed since.
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error).context("folder"),
        }
    }
    Ok(found)
}

/// Returns an entry's type.
pub(crate) fn type_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

impl Copy<'_> {
    /// Copies the content from `from` into the empty folder `to`.
    pub(crate) fn run(&self, from: &OwnedFd, to: &OwnedFd) -> Result<Copied> {
        let mut copied = Copied::default();
        let mut pending = vec![PathBuf::from(".")];
        while let Some(path) = pending.pop() {
            let source = open_beneath(from, &path).context("copy")?;
            let target = open_beneath(to, &path).context("copy")?;
            for (name, stat) in entries(&source)? {
                self.stop.check()?;
                let inner = path.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
                match type_of(&stat) {
                    FileType::Directory => {
                        mkdirat(&target, &name, Mode::from_raw_mode(0o755)).context("copy")?;
                        let made = open_beneath(
                            &target,
                            Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())),
                        );
                        self.own(&made.context("copy")?)?;
                        pending.push(inner);
                    }
                    FileType::RegularFile => {
                        let is_linked = self.links.is_some_and(|rule| rule(&inner));
                        if is_linked
                            && linkat(&source, &name, &target, &name, AtFlags::empty()).is_ok()
                        {
                            continue;
                        }
                        copied.unlinked += u64::from(is_linked);
                        self.file(&source, &target, &name, &stat).context("copy")?;
                    }
                    FileType::Symlink => {
                        let link = readlinkat(&source, &name, Vec::new()).context("copy")?;
                        symlinkat(&link, &target, &name).context("copy")?;
                        let (uid, gid) = self.ids();
                        chownat(&target, &name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
                            .context("copy")?;
                    }
                    _ => {}
                }
            }
        }
        Ok(copied)
    }

    fn file(&self, source: &OwnedFd, target: &OwnedFd, name: &CStr, stat: &Stat) -> io::Result<()> {
        // Does not wait if a pipe took the file's place.
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut from = File::from(openat(source, name, read, Mode::empty())?);
        let mut to = File::from(openat(target, name, write, Mode::from_raw_mode(0o600))?);
        io::copy(&mut from, &mut to)?;
        let added = if self.is_writable { 0o200 } else { 0 };
        let (uid, gid) = self.ids();
        fchown(&to, uid, gid)?;
        Ok(fchmod(
            &to,
            Mode::from_raw_mode(stat.st_mode & PERMISSIONS | added),
        )?)
    }

    fn own(&self, folder: &OwnedFd) -> Result<()> {
        let (uid, gid) = self.ids();
        fchown(folder, uid, gid).context("copy")
    }

    fn ids(&self) -> (Option<Uid>, Option<Gid>) {
        (self.owner.map(Owner::uid), self.owner.map(Owner::gid))
    }
}

/// Changes the owner of a folder and the content.
///
/// A file with several links may be part of the dependency store, and another user's file is not
/// the daemon's to give away: both keep their owner.
pub(crate) fn change_owner(folder: &OwnedFd, owner: Owner, stop: &Stop) -> Result<()> {
    let (uid, gid) = (Some(owner.uid()), Some(owner.gid()));
    let daemon = rustix::process::geteuid().as_raw();
    let mut pending = vec![PathBuf::from(".")];
    while let Some(path) = pending.pop() {
        let current = open_beneath(folder, &path).context("owner")?;
        for (name, stat) in entries(&current)? {
            stop.check()?;
            let is_folder = type_of(&stat) == FileType::Directory;
            if is_folder {
                pending.push(path.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
            } else if stat.st_nlink > 1 || stat.st_uid != daemon {
                continue;
            }
            if !is_folder {
                chownat(&current, &name, uid, gid, AtFlags::SYMLINK_NOFOLLOW).context("owner")?;
            }
        }
        fchown(&current, uid, gid).context("owner")?;
    }
    Ok(())
}

/// Removes all files' write permissions, and gives everything to `owner`. The files' owner could
/// restore them.
pub(crate) fn harden(folder: &OwnedFd, owner: Option<Owner>, stop: &Stop) -> Result<()> {
    let (uid, gid) = (owner.map(Owner::uid), owner.map(Owner::gid));
    let mut pending = vec![PathBuf::from(".")];
    while let Some(path) = pending.pop() {
        let current = open_beneath(folder, &path).context("harden")?;
        fchown(&current, uid, gid).context("harden")?;
        for (name, stat) in entries(&current)? {
            stop.check()?;
            match type_of(&stat) {
                FileType::Directory => {
                    pending.push(path.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
                }
                FileType::RegularFile => {
                    let read =
                        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                    let file = openat(&current, &name, read, Mode::empty()).context("harden")?;
                    let mode = (stat.st_mode & PERMISSIONS | 0o444) & !0o222;
                    fchown(&file, uid, gid).context("harden")?;
                    fchmod(&file, Mode::from_raw_mode(mode)).context("harden")?;
                }
                FileType::Symlink => {
                    chownat(&current, &name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
                        .context("harden")?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, time::Duration};

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn links_out_of_the_tree_are_copied_as_links() {
        let dir = tempfile::tempdir().unwrap();
        let [secret, from, to] = ["secret", "from", "to"].map(|name| dir.path().join(name));
        for folder in [&secret, &from, &to, &from.join("a")] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(secret.join("key"), "k").unwrap();
        symlink(&secret, from.join("out")).unwrap();
        fs::write(from.join("a/file"), "x").unwrap();
        let open = |path: &Path| OwnedFd::from(File::open(path).unwrap());
        let stop = Stop::new(CancellationToken::new(), Duration::from_secs(60));
        let links: LinkRule = |path| path.ends_with("file");
        let copy = Copy {
            owner: None,
            links: Some(links),
            is_writable: true,
            stop: &stop,
        };
        assert_eq!(
            copy.run(&open(&from), &open(&to)).unwrap(),
            Copied { unlinked: 0 }
        );
        assert!(fs::symlink_metadata(to.join("out")).unwrap().is_symlink());
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(fs::metadata(to.join("a/file")).unwrap().nlink(), 2);
        harden(&open(&from), None, &stop).unwrap();
        assert_eq!(
            fs::metadata(to.join("a/file")).unwrap().mode() & 0o777,
            0o444
        );
    }

    #[test]
    fn cancelled_copy_stops() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        let open = || OwnedFd::from(File::open(dir.path()).unwrap());
        let token = CancellationToken::new();
        token.cancel();
        let stop = Stop::new(token, Duration::from_secs(60));
        let copy = Copy {
            owner: None,
            links: None,
            is_writable: true,
            stop: &stop,
        };
        let failure = copy.run(&open(), &open()).unwrap_err();
        assert_eq!(failure.kind, ars_resident::daemon::FailureKind::Cancelled);
    }
}
