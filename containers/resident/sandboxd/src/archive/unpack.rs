//! Extracts an archive to an empty folder, and never outside it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path},
};

use ars_resident::daemon::{FailureKind, StepFailure};
use tar::{Archive, EntryType};

use crate::{
    failure::{Context as _, Result},
    step::Progress,
    stop::Stop,
};

/// Extracts an archive. With `keeps_owners`, the archive's owners apply.
pub(crate) fn unpack(
    file: &Path,
    folder: &Path,
    keeps_owners: bool,
    progress: &Progress,
    stop: &Stop,
) -> Result<()> {
    let file = File::open(file).context("archive")?;
    let decoder = zstd::Decoder::new(file).context("archive")?;
    let mut archive = Archive::new(Counting {
        inner: decoder,
        bytes: 0,
        progress: progress.clone(),
    });
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(keeps_owners);
    archive.set_overwrite(false);
    for entry in archive.entries().map_err(corrupt)? {
        stop.check()?;
        let mut entry = entry.map_err(corrupt)?;
        let path = entry.path().map_err(corrupt)?.into_owned();
        let is_known = matches!(
            entry.header().entry_type(),
            EntryType::Regular | EntryType::Directory | EntryType::Symlink
        );
        let is_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_known || !is_inside {
            return Err(StepFailure::new(
                FailureKind::Corrupt,
                "the archive has an entry outside of its folder",
            ));
        }
        // Refuses to write through a link that an earlier entry made.
        match entry.unpack_in(folder) {
            Ok(true) => {}
            Ok(false) => return Err(corrupt(io::Error::other("an entry was refused"))),
            Err(error) if is_full(&error) => return Err(error).context("extract"),
            Err(error) => return Err(corrupt(error)),
        }
    }
    // The archive must end where the file ends: a cut archive is refused.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(corrupt)?;
    match rest.bytes {
        0 => Err(corrupt(io::Error::other("it is empty"))),
        _ => Ok(()),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn corrupt(error: impl Into<io::Error>) -> StepFailure {
    let error = error.into();
    StepFailure::new(
        FailureKind::Corrupt,
        format!("the archive is damaged: {error}"),
    )
}

/// Reads and counts extracted bytes.
struct Counting<R> {
    inner: R,
    bytes: u64,
    progress: Progress,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        self.progress.add(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, os::unix::fs::symlink, time::Duration};

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::archive::pack;

    fn stop() -> Stop {
        Stop::new(CancellationToken::new(), Duration::from_secs(60))
    }

    fn unpack_bytes(bytes: &[u8]) -> (tempfile::TempDir, Result<()>) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("to")).unwrap();
        fs::write(dir.path().join("archive"), bytes).unwrap();
        let to = dir.path().join("to");
        let done = unpack(
            &dir.path().join("archive"),
            &to,
            false,
            &Progress::default(),
            &stop(),
        );
        (dir, done)
    }

    fn packed() -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("a/node_modules")).unwrap();
        fs::create_dir_all(from.join("node_modules/x")).unwrap();
        fs::write(from.join("a/node_modules/file"), vec![7; 100_000]).unwrap();
        fs::write(from.join("x".repeat(200)), "long name").unwrap();
        symlink("/etc/passwd", from.join("link")).unwrap();
        let folder = File::open(&from).unwrap().into();
        let target = dir.path().join("archive");
        let made = pack(
            &folder,
            Some("node_modules"),
            &target,
            &Progress::default(),
            &stop(),
        )
        .unwrap();
        let bytes = fs::read(target).unwrap();
        assert_eq!(made.bytes, bytes.len() as u64);
        bytes
    }

    #[test]
    fn archive_restores_the_folder() {
        let (dir, done) = unpack_bytes(&packed());
        done.unwrap();
        let to = dir.path().join("to");
        assert_eq!(
            fs::read(to.join("a/node_modules/file")).unwrap().len(),
            100_000
        );
        assert_eq!(fs::read(to.join("x".repeat(200))).unwrap(), b"long name");
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("/etc/passwd")
        );
        assert!(!to.join("node_modules").exists());
    }

    #[test]
    fn damaged_archive_is_refused() {
        let bytes = packed();
        let mut flipped = bytes.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        for bad in [
            &bytes[..bytes.len() - 1],
            &bytes[..middle],
            &flipped,
            b"",
            b"no archive",
        ] {
            let failure = unpack_bytes(bad).1.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Corrupt);
        }
    }

    /// An archive with a link to a folder outside, and an entry below the link.
    #[test]
    fn archive_does_not_write_through_links() {
        let outside = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(EntryType::Symlink);
        link.set_size(0);
        builder
            .append_link(&mut link, "out", outside.path())
            .unwrap();
        let mut file = tar::Header::new_gnu();
        file.set_size(1);
        file.set_mode(0o644);
        builder
            .append_data(&mut file, "out/file", &b"x"[..])
            .unwrap();
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        let failure = unpack_bytes(&encoder.finish().unwrap()).1.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Corrupt);
        assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    }
}
