//! The footprint of a repository: the files that have its refs, its index and its ignore rules.
//!
//! A file that was written since has another inode or another time of change, and no program can set that time back.
//! Equal footprints therefore mean equal refs. All calls block.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::super::files::{Files, Kind, Stamp};

/// Most files and folders of refs. A repository with more has no footprint.
const ENTRIES_MAX: usize = 1_000;
/// Maximum folders with watched rules of ignored files.
const FOLDERS_MAX: usize = 500;
/// The repository.
const REPOSITORY: &str = ".git";
/// The file that names another place of the refs.
const OTHER_PLACE: &str = ".git/commondir";
/// The folder of refs.
const REFS: &str = ".git/refs";
/// The file with rules of ignored files.
const IGNORE: &str = ".gitignore";
/// Files that decide about a checkpoint beside those of the tree.
const FILES: [&str; 7] = [
    ".git/HEAD",
    ".git/config",
    ".git/index",
    ".git/info/exclude",
    ".git/logs/refs/stash",
    ".git/packed-refs",
    ".git/reftable/tables.list",
];

/// Stamps of files and folders by their paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Footprint(Vec<(PathBuf, Stamp)>);

impl Footprint {
    /// Returns the footprint of a tree's repository.
    /// Returns `None` for an unusual one, such as one with links or with its refs elsewhere.
    pub(super) fn of(files: &Files) -> Option<Self> {
        let kind = |path: &str| files.stamp(Path::new(path)).map(|stamp| stamp.kind);
        if kind(REPOSITORY)? != Kind::Folder || kind(OTHER_PLACE)? != Kind::Missing {
            return None;
        }
        let mut found = Vec::new();
        let mut add = |path: PathBuf| {
            let stamp = files.stamp(&path)?;
            found.push((path, stamp));
            (stamp.kind != Kind::Other && found.len() <= ENTRIES_MAX).then_some(stamp.kind)
        };
        for path in FILES {
            add(path.into())?;
        }
        let mut open = vec![PathBuf::from(REFS)];
        while let Some(folder) = open.pop() {
            add(folder.clone())?;
            for (path, is_folder) in files.entries(&folder)? {
                if is_folder {
                    open.push(path);
                } else {
                    add(path)?;
                }
            }
        }
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Some(Self(found))
    }

    /// Returns the footprint of the rules about files in these folders, or `None` for too many folders.
    pub(super) fn of_rules(files: &Files, folders: &BTreeSet<PathBuf>) -> Option<Self> {
        if folders.len() > FOLDERS_MAX {
            return None;
        }
        let stamp = |folder: &PathBuf| {
            let path = folder.join(IGNORE);
            files.stamp(&path).map(|stamp| (path, stamp))
        };
        folders.iter().map(stamp).collect::<Option<_>>().map(Self)
    }
}

/// Returns the folders with the rules about added files, from the lines of `git add --verbose`.
/// Returns `None` for lines that are no such.
pub(super) fn folders_of(lines: &[u8]) -> Option<BTreeSet<PathBuf>> {
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
pub(super) fn added(line: &str) -> Option<&str> {
    line.strip_prefix("add '")?.strip_suffix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_all_folders_above_a_file_count() {
        let folders = folders_of(b"add 'a/b/c.txt'\nremove 'd/e'\nadd 'f'\n").unwrap();
        assert_eq!(folders.into_iter().collect::<Vec<_>>(), ["", "a", "a/b"].map(PathBuf::from));
        assert_eq!(folders_of(b"add 'with\na line feed'\n"), None);
    }
}
