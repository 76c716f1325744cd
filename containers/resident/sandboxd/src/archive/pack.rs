//! Packs a folder into an archive.

use std::{
    ffi::OsStr,
    fs::{File, Permissions},
    io::{self, Write},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, Mode, OFlags, Stat, openat, readlinkat};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::transfer::Received;
use crate::{
    failure::{Context as _, Result},
    places::open_beneath,
    step::Progress,
    stop::Stop,
    walk::{entries, type_of},
};

/// Compression: the fastest level that still halves sources.
const LEVEL: i32 = 1;
/// File mode for the archive.
const PRIVATE: u32 = 0o600;
/// Permission bits that an archive keeps.
const PERMISSIONS: u32 = 0o777;

/// Archives a folder's content, without the entry `without` at its root.
pub(crate) fn pack(
    folder: &OwnedFd,
    without: Option<&str>,
    target: &Path,
    progress: &Progress,
    stop: &Stop,
) -> Result<Received> {
    let file = File::create(target).context("archive")?;
    file.set_permissions(Permissions::from_mode(PRIVATE))
        .context("archive")?;
    let digest = Digesting {
        file,
        digest: Sha256::new(),
        bytes: 0,
        progress: progress.clone(),
    };
    let mut encoder = zstd::Encoder::new(digest, LEVEL).context("archive")?;
    // A damaged archive is recognised without the digest too.
    encoder.include_checksum(true).context("archive")?;
    let mut builder = Builder::new(encoder);
    let mut pending = vec![PathBuf::from(".")];
    while let Some(path) = pending.pop() {
        let current = open_beneath(folder, &path).context("archive")?;
        for (name, stat) in entries(&current)? {
            stop.check()?;
            let name = OsStr::from_bytes(name.to_bytes());
            let is_left_out =
                path == Path::new(".") && without.is_some_and(|without| name == without);
            if is_left_out {
                continue;
            }
            let inner = path.join(name);
            append(&mut builder, &current, name, &inner, &stat).context("archive")?;
            if type_of(&stat) == FileType::Directory {
                pending.push(inner);
            }
        }
    }
    let encoder = builder.into_inner().context("archive")?;
    let done = encoder.finish().context("archive")?;
    done.file.sync_all().context("archive")?;
    Ok(Received {
        bytes: done.bytes,
        sha256: hex::encode(done.digest.finalize()),
    })
}

fn append(
    builder: &mut Builder<impl Write>,
    folder: &OwnedFd,
    name: &OsStr,
    path: &Path,
    stat: &Stat,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(stat.st_mode & PERMISSIONS);
    header.set_uid(stat.st_uid.into());
    header.set_gid(stat.st_gid.into());
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    header.set_size(0);
    match type_of(stat) {
        FileType::Directory => {
            header.set_entry_type(EntryType::Directory);
            // The content is extracted after it.
            header.set_mode(stat.st_mode & PERMISSIONS | 0o700);
            builder.append_data(&mut header, path, io::empty())
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(folder, name, flags, Mode::empty())?);
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            header.set_entry_type(EntryType::Regular);
            header.set_size(size);
            // A file that grew since keeps the size in the header; if it shrank, it is filled.
            let content = io::Read::take(io::Read::chain(file, io::repeat(0)), size);
            builder.append_data(&mut header, path, content)
        }
        FileType::Symlink => {
            let target = readlinkat(folder, name, Vec::new())?;
            header.set_entry_type(EntryType::Symlink);
            builder.append_link(&mut header, path, OsStr::from_bytes(target.to_bytes()))
        }
        _ => Ok(()),
    }
}

/// Writes a file and computes the digest.
struct Digesting {
    file: File,
    digest: Sha256,
    bytes: u64,
    progress: Progress,
}

impl Write for Digesting {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buffer)?;
        self.digest.update(&buffer[..count]);
        self.bytes += count as u64;
        self.progress.add(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
