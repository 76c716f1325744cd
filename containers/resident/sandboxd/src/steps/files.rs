//! Tree files. Links are followed within the tree only.

use std::{
    io::{Read as _, Write as _},
    path::{Component, Path, PathBuf},
};

use ars_resident::daemon::{Answer, FailureKind, StepFailure, StepInput};
use ars_resident::plan::User;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{AtFlags, Mode as Bits, OFlags, chownat, fchmod, fchown};

use crate::{
    failure::{Context as _, Result, invalid},
    step::StepContext,
    users::{self, Owner},
};

/// Maximum bytes per character.
const CHAR_BYTES: usize = 4;
/// Largest repository file that the daemon reads as a whole.
const WHOLE_MAX_BYTES: u64 = 64 << 20;
/// Maximum chained links to a missing file that are followed.
const LINKS_MAX: usize = 8;
/// Largest permissions for a file.
const PERMISSIONS: u32 = 0o777;

pub(super) fn read(step: &StepContext<'_>, path: &str, max_chars: usize) -> Result<Answer> {
    step.tree_user()?;
    let (tree, rest) = step.runtime.places.in_tree(path)?;
    let mut options = OpenOptions::new();
    // Does not wait for a pipe's other end.
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = tree.open_with(&rest, &options).context("open")?;
    if !file.metadata().context("open")?.is_file() {
        return Err(StepFailure::new(
            FailureKind::NotFound,
            "this is no regular file",
        ));
    }
    let mut bytes = Vec::new();
    let most = max_chars
        .saturating_mul(CHAR_BYTES)
        .saturating_add(CHAR_BYTES);
    file.take(most as u64)
        .read_to_end(&mut bytes)
        .context("read")?;
    let text = String::from_utf8_lossy(&bytes);
    let end = text.char_indices().nth(max_chars).map(|(end, _)| end);
    let content = end.map_or(&*text, |end| &text[..end]).to_owned();
    Ok(Answer::File {
        content,
        truncated: end.is_some(),
    })
}

/// Reads a whole file that the tree's user controls. A pipe, a link and a file that fills the
/// memory are refused.
pub(super) fn read_whole(tree: &Dir, path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    let file = tree.open_with(path, &options).context("open")?;
    let meta = file.metadata().context("open")?;
    if !meta.is_file() || meta.len() > WHOLE_MAX_BYTES {
        return Err(invalid(format!(
            "{name} is no regular file of at most {WHOLE_MAX_BYTES} bytes"
        )));
    }
    let mut content = Vec::new();
    // It may grow since.
    file.take(WHOLE_MAX_BYTES)
        .read_to_end(&mut content)
        .context("read")?;
    Ok(content)
}

/// Writes a file. A link in that place stays, and the target inside the tree is written.
pub(super) fn write(step: &StepContext<'_>, path: &str, mode: u32) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    let StepInput::Content { text } = &step.request.input else {
        return Err(invalid("a file is written with content"));
    };
    let (tree, rest) = step.runtime.places.in_tree(path)?;
    let owner = users::owner(&step.runtime.settings.mode, user);
    let rest = target(&tree, &rest)?;
    // A script stays executable.
    let mode = tree
        .metadata(&rest)
        .ok()
        .filter(|meta| meta.is_file())
        .map_or(mode, |meta| meta.mode());
    write_in(&tree, &rest, text.expose().as_bytes(), mode, owner)?;
    Ok(Answer::Written {
        bytes: text.expose().len() as u64,
    })
}

/// Returns a write's target, with links followed inside the tree. A target that a link leads to is
/// never git's own, because git would act on it later.
fn target(tree: &Dir, path: &Path) -> Result<PathBuf> {
    let mut linked = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let found = match tree.canonicalize(&linked) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let parent = linked.parent().unwrap_or(Path::new("")).to_path_buf();
                if let Ok(next) = tree.read_link(&linked) {
                    linked = parent.join(next);
                    continue;
                }
                match (
                    tree.canonicalize(Path::new(".").join(&parent)),
                    linked.file_name(),
                ) {
                    (Ok(folder), Some(name)) => {
                        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
                        folder
                            .components()
                            .filter(is_name)
                            .chain([Component::Normal(name)])
                            .collect()
                    }
                    // The folders are missing too. A link's folders may lead upwards.
                    _ if linked == path => below_existing(tree, path)?,
                    _ => return Err(invalid("the link leads to a folder that does not exist")),
                }
            }
            Err(error) => return Err(error).context("open"),
        };
        let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        if found != path && found.components().any(is_git) && !path.components().any(is_git) {
            return Err(invalid("the link leads to git's own files"));
        }
        return Ok(found);
    }
    Err(invalid("too many links lead to the file"))
}

/// Returns a path with the links in existing folders followed.
fn below_existing(tree: &Dir, path: &Path) -> Result<PathBuf> {
    let existing = path.ancestors().skip(1).find_map(|folder| {
        let found = tree.canonicalize(Path::new(".").join(folder)).ok()?;
        Some((found, path.strip_prefix(folder).ok()?))
    });
    let (folder, rest) = existing.ok_or_else(|| invalid("the path leads out of the tree"))?;
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    Ok(folder
        .components()
        .filter(is_name)
        .chain(rest.components())
        .collect())
}

/// Writes a file in a tree by a rename.
pub(super) fn write_in(
    tree: &Dir,
    path: &Path,
    content: &[u8],
    mode: u32,
    owner: Option<Owner>,
) -> Result<()> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(invalid("the path names no file"));
    };
    let folder = make_folder(tree, parent, owner)?;
    let staging = format!(".ars-{}", uuid::Uuid::new_v4());
    let written = stage(&folder, &staging, content, mode, owner)
        .and_then(|()| folder.rename(&staging, &folder, name).context("rename"));
    if written.is_err() {
        // The failure is already being reported.
        let _ = folder.remove_file(&staging);
    }
    written
}

fn stage(folder: &Dir, name: &str, content: &[u8], mode: u32, owner: Option<Owner>) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = folder.open_with(name, &options).context("create")?;
    file.write_all(content).context("write")?;
    if let Some(owner) = owner {
        fchown(&file, Some(owner.uid()), Some(owner.gid())).context("owner")?;
    }
    fchmod(&file, Bits::from_raw_mode(mode & PERMISSIONS)).context("permissions")
}

/// Opens a folder, and creates missing parts.
pub(super) fn make_folder(tree: &Dir, folder: &Path, owner: Option<Owner>) -> Result<Dir> {
    let mut path = PathBuf::from(".");
    for part in folder
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
    {
        path.push(part);
        // Relative to the tree, so that a link may lead to another folder in it.
        match tree.create_dir(&path) {
            Ok(()) => {
                let made = tree.open_dir(&path).context("open")?;
                if let Some(owner) = owner {
                    // The folder is open by path only.
                    chownat(
                        &made,
                        "",
                        Some(owner.uid()),
                        Some(owner.gid()),
                        AtFlags::EMPTY_PATH,
                    )
                    .context("owner")?;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context("create"),
        }
    }
    tree.open_dir(&path).context("open")
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn write_goes_through_links_of_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("docs/.git")).unwrap();
        std::fs::write(path("docs/real"), "").unwrap();
        for (to, link) in [
            ("docs/real", "link"),
            ("link", "again"),
            ("../docs/new", "docs/dangling"),
            ("docs/.git/config", "gits"),
            ("docs/.git", "git"),
            ("/etc/passwd", "outside"),
            ("loop", "loop"),
        ] {
            std::os::unix::fs::symlink(to, path(link)).unwrap();
        }
        let tree = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        for (name, expected) in [
            ("link", "docs/real"),
            ("again", "docs/real"),
            ("docs/dangling", "docs/new"),
            ("plain", "plain"),
            ("new/folder/file", "new/folder/file"),
        ] {
            assert_eq!(
                target(&tree, Path::new(name)).unwrap(),
                Path::new(expected),
                "{name}"
            );
        }
        for name in ["gits", "git/new/file", "outside", "loop"] {
            assert_eq!(
                target(&tree, Path::new(name)).unwrap_err().kind,
                FailureKind::Invalid,
                "{name}"
            );
        }
    }

    #[test]
    fn hostile_files_are_not_read_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        mknodat(CWD, path("pipe"), FileType::Fifo, Bits::RUSR, 0).unwrap();
        std::fs::File::create(path("sparse"))
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        std::fs::write(path("config"), "[core]").unwrap();
        std::os::unix::fs::symlink("config", path("link")).unwrap();
        let tree = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        for name in ["pipe", "sparse", "link", "missing"] {
            assert!(read_whole(&tree, Path::new(name)).is_err(), "{name}");
        }
        assert_eq!(read_whole(&tree, Path::new("config")).unwrap(), b"[core]");
    }
}
