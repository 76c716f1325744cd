//! A quarantine's loose objects: searched for secrets, and moved into the mirror.
//!
//! All calls block.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, BufRead as _, BufReader, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use ars_resident::saved_work::{SEARCHED_MAX_BYTES, secret_in};
use flate2::bufread::ZlibDecoder;

use super::mirror::{Mirror, entries};

/// Maximum objects that are moved singly. More become a pack.
const OBJECTS_MAX: usize = 256;
/// Maximum size of an object's head in bytes.
const HEAD_MAX_BYTES: u64 = 64;
/// Permissions for object folders.
const PRIVATE: u32 = 0o700;
/// Digits in an object id that name the folder.
const FOLDER_DIGITS: usize = 2;
/// Total digits in an object id.
const ID_DIGITS: usize = 40;

/// An object in a quarantine, below the folder `objects`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loose {
    kind: ObjectKind,
    /// Path such as `ab/cdef…`
    path: PathBuf,
}

/// The object's kind. An object that names others follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

/// Returns a quarantine's objects, in the order in which they are moved.
///
/// Returns `None` if they need another way: they are too many, they are not exactly one file for
/// each `added` object, or a file has a secret or is too large for a search.
pub(super) fn searched(quarantine: &Path, added: usize) -> io::Result<Option<Vec<Loose>>> {
    let objects = quarantine.join("objects");
    let mut found = Vec::new();
    for folder in entries(&objects)? {
        for entry in entries(&folder.path())? {
            let path = Path::new(&folder.file_name()).join(entry.file_name());
            if found.len() == OBJECTS_MAX || !is_id(&path) {
                return Ok(None);
            }
            let Some(kind) = harmless(&objects.join(&path))? else {
                return Ok(None);
            };
            found.push(Loose { kind, path });
        }
    }
    found.sort_unstable();
    let files = found
        .iter()
        .filter(|object| object.kind == ObjectKind::Blob)
        .count();
    // Content that the mirror has makes no object; the file is searched by name.
    Ok((files == added).then_some(found))
}

/// Returns an object's kind, or `None` for a file that has a secret or is not searched.
fn harmless(path: &Path) -> io::Result<Option<ObjectKind>> {
    let mut content = BufReader::new(ZlibDecoder::new(BufReader::new(File::open(path)?)));
    let mut head = Vec::new();
    content
        .by_ref()
        .take(HEAD_MAX_BYTES)
        .read_until(0, &mut head)?;
    let head = String::from_utf8_lossy(&head);
    let Some((kind, size)) = head.trim_end_matches('\0').split_once(' ') else {
        return Ok(None);
    };
    let kind = match kind {
        "blob" => ObjectKind::Blob,
        "tree" => ObjectKind::Tree,
        "commit" => ObjectKind::Commit,
        _ => return Ok(None),
    };
    if kind != ObjectKind::Blob {
        return Ok(Some(kind));
    }
    if size
        .parse::<usize>()
        .map_or(true, |size| size > SEARCHED_MAX_BYTES)
    {
        return Ok(None);
    }
    let mut text = Vec::new();
    content
        .take(SEARCHED_MAX_BYTES as u64 + 1)
        .read_to_end(&mut text)?;
    Ok((text.len() <= SEARCHED_MAX_BYTES && secret_in(&text).is_none()).then_some(kind))
}

fn is_id(path: &Path) -> bool {
    let Some((folder, name)) = path.to_str().and_then(|path| path.split_once('/')) else {
        return false;
    };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    folder.len() == FOLDER_DIGITS
        && name.len() == ID_DIGITS - FOLDER_DIGITS
        && is_hex(folder)
        && is_hex(name)
}

impl Mirror {
    /// Moves objects out of their quarantine. Returns their new places.
    pub(super) fn adopt_loose(
        &self,
        quarantine: &Path,
        objects: &[Loose],
    ) -> io::Result<Vec<PathBuf>> {
        let folder = self.objects();
        let mut moved = Vec::with_capacity(objects.len());
        for Loose { path, .. } in objects {
            let place = folder.join(path);
            if let Some(parent) = place.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(PRIVATE)
                    .create(parent)?;
            }
            fs::rename(quarantine.join("objects").join(path), &place)?;
            moved.push(place);
        }
        Ok(moved)
    }

    /// Returns how many objects are outside packs.
    pub(super) fn count_loose(&self) -> io::Result<usize> {
        let mut count = 0;
        for folder in entries(&self.objects())? {
            if folder.file_name().len() == FOLDER_DIGITS {
                count += entries(&folder.path())?.len();
            }
        }
        Ok(count)
    }
}

/// Writes moved objects to the disk, which the checkpoint does not wait for.
pub(super) fn flush(objects: &[PathBuf]) {
    for object in objects {
        // It may be in a pack by now.
        let flushed = File::open(object).and_then(|file| file.sync_data());
        if let Err(error) = flushed.map_err(|error| error.kind())
            && error != io::ErrorKind::NotFound
        {
            tracing::warn!(?error, "an object of a checkpoint is not on the disk yet");
        }
    }
}
