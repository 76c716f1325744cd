//! A repository's footprint: the files that hold refs, index and ignore rules.
//!
//! A file that was written since has another inode or another change time, and no program can set
//! that time back. Equal footprints therefore mean equal refs. All calls block. Used for trees on
//! residents and for those on the bot's disk.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, MetadataExt as _};

/// Maximum files and folders with refs. A repository with more has no footprint.
const ENTRIES_MAX: usize = 1_000;
/// Maximum folders with watched ignore rules.
const FOLDERS_MAX: usize = 500;
/// The repository's folder in a tree.
const REPOSITORY: &str = ".git";
/// The file that names another place for the refs.
const OTHER_PLACE: &str = ".git/commondir";
/// The folder with the refs.
const REFS: &str = ".git/refs";
/// The repository's settings file.
const SETTINGS: &str = ".git/config";
/// The file with ignore rules.
const IGNORE: &str = ".gitignore";
/// Files that decide about a checkpoint beside those in the tree.
const FILES: [&str; 7] = [
    ".git/HEAD",
    SETTINGS,
    ".git/index",
    ".git/info/exclude",
    ".git/logs/refs/stash",
    ".git/packed-refs",
    ".git/reftable/tables.list",
];

/// What a tree's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    File,
    Folder,
    Missing,
    Other,
}

/// A file's or folder's state, without the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    kind: FileKind,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// Returns a path's stamp, without following a link, or `None` if it cannot be read.
fn stamp(tree: &Dir, path: &Path) -> Option<Stamp> {
    let metadata = match tree.symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(Stamp {
                kind: FileKind::Missing,
                inode: 0,
                size: 0,
                changed: (0, 0),
            });
        }
        Err(_) => return None,
    };
    let kind = match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Folder,
        _ => FileKind::Other,
    };
    let (inode, changed) = (metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()));
    Some(Stamp {
        kind,
        inode,
        size: metadata.len(),
        changed,
    })
}

/// File and folder stamps by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint(Vec<(PathBuf, Stamp)>);

impl Footprint {
    /// Returns the footprint of a tree's repository. Returns `None` if it is unusual, for example
    /// with links or with refs elsewhere.
    #[must_use]
    pub fn read(tree: &Dir) -> Option<Self> {
        let kind = |path: &str| stamp(tree, Path::new(path)).map(|stamp| stamp.kind);
        if kind(REPOSITORY)? != FileKind::Folder || kind(OTHER_PLACE)? != FileKind::Missing {
            return None;
        }
        let mut found = Vec::new();
        let mut add = |path: PathBuf| {
            let stamp = stamp(tree, &path)?;
            found.push((path, stamp));
            (stamp.kind != FileKind::Other && found.len() <= ENTRIES_MAX).then_some(stamp.kind)
        };
        for path in FILES {
            add(path.into())?;
        }
        let mut open = vec![PathBuf::from(REFS)];
        while let Some(folder) = open.pop() {
            add(folder.clone())?;
            for entry in tree.read_dir(&folder).ok()?.flatten() {
                let path = folder.join(entry.file_name());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(path);
                } else {
                    add(path)?;
                }
            }
        }
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Some(Self(found))
    }

    /// Returns whether both are equal except for the repository's settings.
    #[must_use]
    pub fn has_same_refs(&self, other: &Self) -> bool {
        let is_compared = |(path, _): &&(PathBuf, Stamp)| path != Path::new(SETTINGS);
        self.0
            .iter()
            .filter(is_compared)
            .eq(other.0.iter().filter(is_compared))
    }

    /// Returns the footprint for the ignore rules in these folders, or `None` for too many folders.
    fn of_rules(tree: &Dir, folders: &BTreeSet<PathBuf>) -> Option<Self> {
        if folders.len() > FOLDERS_MAX {
            return None;
        }
        let rules = |folder: &PathBuf| {
            let path = folder.join(IGNORE);
            stamp(tree, &path).map(|stamp| (path, stamp))
        };
        folders.iter().map(rules).collect::<Option<_>>().map(Self)
    }
}

/// Files that make the index useless by a change.
#[derive(Debug)]
pub struct WatchedTree {
    footprint: Footprint,
    /// Folders with files that the tree's own index lacks, with the ignore rules in them.
    folders: BTreeSet<PathBuf>,
    rules: Footprint,
}

impl WatchedTree {
    /// Watches a tree for which `git add --verbose` printed these lines. `None` if it cannot be
    /// watched.
    #[must_use]
    pub fn new(tree: &Dir, footprint: Footprint, added: &[u8]) -> Option<Self> {
        let folders = folders_of(added)?;
        let rules = Footprint::of_rules(tree, &folders)?;
        Some(Self {
            footprint,
            folders,
            rules,
        })
    }

    /// Returns whether nothing changed.
    #[must_use]
    pub fn is_current(&self, tree: &Dir) -> bool {
        Footprint::read(tree).is_some_and(|footprint| footprint == self.footprint)
            && Footprint::of_rules(tree, &self.folders).is_some_and(|rules| rules == self.rules)
    }

    /// Watches further files' folders too.
    #[must_use]
    pub fn followed(mut self, tree: &Dir, added: &[u8]) -> Option<Self> {
        self.folders.extend(folders_of(added)?);
        self.rules = Footprint::of_rules(tree, &self.folders)?;
        Some(self)
    }
}

/// Returns the folders with the rules about added files, from the lines printed by `git add
/// --verbose`. Returns `None` for any other lines.
fn folders_of(lines: &[u8]) -> Option<BTreeSet<PathBuf>> {
    let mut folders = BTreeSet::new();
    for line in std::str::from_utf8(lines).ok()?.lines() {
        let Some(path) = added(line) else {
            line.strip_prefix("remove '")?;
            continue;
        };
        folders.extend(Path::new(path).ancestors().skip(1).map(Path::to_path_buf));
    }
    Some(folders)
}

/// Returns the path that a line reports as added.
fn added(line: &str) -> Option<&str> {
    line.strip_prefix("add '")?.strip_suffix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_all_folders_above_a_file_count() {
        let folders = folders_of(b"add 'a/b/c.txt'\nremove 'd/e'\nadd 'f'\n").unwrap();
        assert_eq!(
            folders.into_iter().collect::<Vec<_>>(),
            ["", "a", "a/b"].map(PathBuf::from)
        );
        assert_eq!(folders_of(b"add 'with\na line feed'\n"), None);
    }
}
