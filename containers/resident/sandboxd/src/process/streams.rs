//! A program's streams: files on the disk, so that no output is lost and none is held in memory.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::FileExt as _,
    path::Path,
};

use rustix::fs::fchown;

use crate::users::Owner;

/// Text between head and tail.
const CUT: &[u8] = b"\n[...]\n";

/// Both streams. The files have no name and end with this value.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// The returned parts of both streams.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// Bytes from standard output.
    pub(crate) stdout: Vec<u8>,
    /// Bytes from standard error.
    pub(crate) stderr: Vec<u8>,
}

impl Streams {
    /// Creates the files. The program's user may open them again by `/dev/stdout`.
    pub(crate) fn create(folder: &Path, owner: Option<Owner>) -> io::Result<Self> {
        let create = || {
            let file = tempfile::tempfile_in(folder)?;
            if let Some(owner) = owner {
                fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
            }
            Ok::<_, io::Error>(file)
        };
        Ok(Self {
            stdout: create()?,
            stderr: create()?,
        })
    }

    /// Reads both streams' heads.
    pub(crate) fn heads(&self, max: usize) -> Heads {
        Heads {
            stdout: head(&self.stdout, max),
            stderr: head(&self.stderr, max),
        }
    }

    /// Reads the heads; a longer stream gives half the head and the end.
    pub(crate) fn both_ends(&self, max: usize) -> Heads {
        Heads {
            stdout: ends(&self.stdout, max),
            stderr: ends(&self.stderr, max),
        }
    }

    /// Returns the output as a file, rewound to the start.
    pub(crate) fn into_output(self) -> io::Result<File> {
        let mut file = self.stdout;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

/// Reads a part of a file that other processes may still write to. An unreadable part is empty.
fn head(file: &File, max: usize) -> Vec<u8> {
    range(file, 0, max)
}

fn ends(file: &File, max: usize) -> Vec<u8> {
    let length = file
        .metadata()
        .map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(usize::MAX));
    if length <= max {
        return head(file, max);
    }
    let half = max / 2;
    let mut all = head(file, half);
    all.extend_from_slice(CUT);
    all.extend(range(file, (length - half) as u64, half));
    all
}

fn range(file: &File, start: u64, max: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let reader = Range { file, at: start };
    // The bytes before an error are returned.
    let _ = reader.take(max as u64).read_to_end(&mut bytes);
    bytes
}

struct Range<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for Range<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn long_output_keeps_head_and_tail() {
        let dir = tempfile::tempdir().unwrap();
        let streams = Streams::create(dir.path(), None).unwrap();
        (&streams.stdout)
            .write_all(format!("start{}end", "x".repeat(100)).as_bytes())
            .unwrap();
        let heads = streams.both_ends(20);
        let text = String::from_utf8(heads.stdout).unwrap();
        assert!(
            text.starts_with("startxxxxx\n[...]\n") && text.ends_with("xxxxxxxend"),
            "{text}"
        );
        assert_eq!(streams.heads(5).stdout, b"start");
        assert!(streams.heads(5).stderr.is_empty());
    }
}
