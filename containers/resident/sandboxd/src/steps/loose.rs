//! A quick checkpoint's loose objects: checked, brought into the mirror, and named.
//!
//! The tree's user controls their files, so a copy is checked against the id and written anew. Not
//! here: whether the objects are complete.

use std::{
    collections::HashSet,
    fs::{self, File, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use ars_resident::names::Sha;
use ars_resident::saved_work::{SEARCHED_MAX_BYTES, secret_in};
use cap_std::fs::Dir;
use flate2::bufread::ZlibDecoder;
use sha1::{Digest as _, Sha1};

use super::files::read_whole;
use crate::{
    failure::{Context as _, Result},
    stop::Stop,
};

/// Maximum new objects per quick checkpoint.
const OBJECTS_MAX: usize = 256;
/// Maximum total size of their files in bytes, which are in memory at once.
const BYTES_MAX: usize = 16 << 20;
/// Maximum size of an object's head in bytes.
const HEAD_MAX_BYTES: usize = 64;
/// Object id digits that name the folder.
pub(super) const FOLDER_DIGITS: usize = 2;
/// Mode of an object in the mirror.
const OBJECT_MODE: u32 = 0o444;
/// Mode of a ref in the mirror.
const REF_MODE: u32 = 0o644;

/// An object that the mirror may have.
pub(super) struct Loose {
    kind: ObjectKind,
    /// Hexadecimal id of the object.
    pub(super) id: String,
    compressed: Vec<u8>,
}

/// The object's kind. An object that names others follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

/// Returns a folder's objects that were not adopted yet.
///
/// Returns `None` if they need another way: they are too many, an id differs from the name, or a
/// file has a secret or is too large for a search.
pub(super) fn searched(
    folder: &Dir,
    adopted: &HashSet<String>,
    stop: &Stop,
) -> Result<Option<Vec<Loose>>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for entry in folder.entries().context("objects")? {
        let Ok(start) = entry.context("objects")?.file_name().into_string() else {
            return Ok(None);
        };
        let inner = folder.open_dir(&start).context("objects")?;
        for entry in inner.entries().context("objects")? {
            stop.check()?;
            let Ok(rest) = entry.context("objects")?.file_name().into_string() else {
                return Ok(None);
            };
            let id = format!("{start}{rest}");
            if adopted.contains(&id) {
                continue;
            }
            let compressed = read_whole(&inner, Path::new(&rest))?;
            bytes += compressed.len();
            let is_small = found.len() < OBJECTS_MAX && bytes <= BYTES_MAX;
            let Some(kind) = harmless(&id, &compressed).filter(|_| is_small) else {
                return Ok(None);
            };
            found.push(Loose {
                kind,
                id,
                compressed,
            });
        }
    }
    found.sort_unstable_by_key(|object| object.kind);
    Ok(Some(found))
}

/// Returns the kind of an object with this id.
///
/// Returns `None` if the id differs, and for a file that has a secret or is too large.
fn harmless(id: &str, compressed: &[u8]) -> Option<ObjectKind> {
    let mut decoder = ZlibDecoder::new(compressed);
    let (mut content, most) = (Vec::new(), HEAD_MAX_BYTES + SEARCHED_MAX_BYTES);
    decoder
        .by_ref()
        .take(most as u64 + 1)
        .read_to_end(&mut content)
        .ok()?;
    let is_whole = content.len() <= most && decoder.into_inner().is_empty();
    if !is_whole || hex::encode(Sha1::digest(&content)) != id {
        return None;
    }
    let end = content.iter().position(|byte| *byte == 0)?;
    let (kind, size) = std::str::from_utf8(&content[..end]).ok()?.split_once(' ')?;
    let body = &content[end + 1..];
    let kind = match kind {
        "blob" => ObjectKind::Blob,
        "tree" => ObjectKind::Tree,
        "commit" => ObjectKind::Commit,
        _ => return None,
    };
    let is_plain =
        kind != ObjectKind::Blob || (body.len() <= SEARCHED_MAX_BYTES && secret_in(body).is_none());
    (size.parse() == Ok(body.len()) && is_plain).then_some(kind)
}

/// Writes objects to the mirror, and returns their files. An object that it has stays.
pub(super) fn adopt(mirror: &Path, objects: &[Loose]) -> io::Result<Vec<PathBuf>> {
    let (all, mut written) = (mirror.join("objects"), Vec::new());
    for Loose { id, compressed, .. } in objects {
        let (start, rest) = id.split_at(FOLDER_DIGITS);
        let place = all.join(start).join(rest);
        if place.exists() {
            continue;
        }
        fs::create_dir_all(all.join(start))?;
        // Git removes abandoned files with this name.
        let mut file = tempfile::Builder::new()
            .prefix("tmp_obj_")
            .permissions(Permissions::from_mode(OBJECT_MODE))
            .tempfile_in(all.join(start))?;
        file.write_all(compressed)?;
        file.persist(&place)?;
        written.push(place);
    }
    Ok(written)
}

/// Names a complete commit in the mirror, and returns the file. The name must be new.
///
/// Without git, because starting it costs more than everything else here, and it waits for the
/// disk.
pub(super) fn name(mirror: &Path, git_ref: &str, commit: &Sha) -> io::Result<PathBuf> {
    // Git would refuse it.
    if git_ref.contains("..") || git_ref.contains("/.") {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let place = mirror.join(git_ref);
    fs::create_dir_all(place.parent().unwrap_or(mirror))?;
    // Git removes abandoned files with this name.
    let mut file = tempfile::Builder::new()
        .prefix("tmp_ref_")
        .permissions(Permissions::from_mode(REF_MODE))
        .tempfile_in(mirror.join("objects"))?;
    writeln!(file, "{commit}")?;
    file.persist_noclobber(&place)?;
    Ok(place)
}

/// Writes mirror files to the disk. The checkpoint does not wait for it, so a power loss may tear
/// it (`super::torn`).
pub(super) fn flush(files: &[PathBuf]) {
    for file in files {
        if let Err(error) = File::open(file).and_then(|file| file.sync_data()) {
            tracing::warn!(%error, "a part of a checkpoint is not on the disk yet");
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::ZlibEncoder};

    use super::*;

    fn object(text: &[u8]) -> (String, Vec<u8>) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        (hex::encode(Sha1::digest(text)), encoder.finish().unwrap())
    }

    #[test]
    fn name_is_new_and_one_of_git() {
        let mirror = tempfile::tempdir().unwrap();
        fs::create_dir(mirror.path().join("objects")).unwrap();
        let [first, second] = ["a", "b"].map(|digit| Sha::parse(digit.repeat(40)).unwrap());
        let place = name(mirror.path(), "refs/ars/run-1/1", &first).unwrap();
        assert!(name(mirror.path(), "refs/ars/run-1/1", &second).is_err());
        assert_eq!(fs::read_to_string(place).unwrap(), format!("{first}\n"));
        for bad in ["refs/ars/../heads/main", "refs/ars/.hidden/1"] {
            assert!(name(mirror.path(), bad, &first).is_err(), "{bad}");
        }
        assert_eq!(
            fs::read_dir(mirror.path().join("objects")).unwrap().count(),
            0
        );
    }

    #[test]
    fn object_has_the_id_of_its_name() {
        let (id, plain) = object(b"blob 2\0x\n");
        assert_eq!(id, "587be6b4c3f93f93c489c0111bba5596147a26cb");
        assert_eq!(harmless(&id, &plain), Some(ObjectKind::Blob));
        let (other, _) = object(b"blob 2\0y\n");
        assert_eq!(harmless(&other, &plain), None);
        assert_eq!(harmless(&id, &[&plain[..], b"more"].concat()), None);
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        for bad in [
            format!("blob 40\0{secret}"),
            "blob 3\0x\n".into(),
            "tag 0\0".into(),
            "blob".into(),
        ] {
            let (id, compressed) = object(bad.as_bytes());
            assert_eq!(harmless(&id, &compressed), None, "{bad}");
        }
    }
}
