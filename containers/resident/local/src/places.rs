//! A resident's folders.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use ars_resident::names::{BackupId, Resource, RuntimeId};

/// Permissions for created folders.
const PRIVATE: u32 = 0o700;
/// Suffix of an archive's name, after the id.
pub(crate) const ARCHIVE_SUFFIX: &str = ".tar.zst";
/// Name prefix of a disk that is being removed.
const REMOVED: &str = "removed-";
/// Path to a disk's marker below the workspace, see `ars_resident::layout::RUNTIME`.
const RUNTIME: &str = ".resident/runtime";
/// Path to archives on their way below a workspace, see `ars_resident::layout::TRANSFERS`.
const TRANSFERS: &str = ".resident/transfers";

/// A resident's folders.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    base: PathBuf,
}

impl Places {
    /// Creates a resident's folder. A resource has no `..`, so it stays below `all`.
    pub(crate) fn create(all: &Path, resource: &Resource) -> io::Result<Self> {
        let base = all.join(resource.slug());
        fs::DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(&base)?;
        Ok(Self { base })
    }

    /// Returns the database file's path.
    pub(crate) fn database(&self) -> PathBuf {
        self.base.join("state.sqlite3")
    }

    /// Returns the folder that stands for the container's disk.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.base.join("workspace")
    }

    /// Returns the folder with the commands' homes.
    pub(crate) fn homes(&self) -> PathBuf {
        self.base.join("homes")
    }

    /// Returns the archive folder.
    pub(crate) fn archives(&self) -> PathBuf {
        self.base.join("archives")
    }

    /// Returns an archive's path.
    pub(crate) fn archive(&self, id: &BackupId) -> PathBuf {
        self.archives().join(format!("{id}{ARCHIVE_SUFFIX}"))
    }

    /// Returns an archive's path between the daemon and the archive folder.
    pub(crate) fn transfer(&self, id: &BackupId) -> PathBuf {
        self.workspace()
            .join(TRANSFERS)
            .join(format!("{id}.tar.zst"))
    }

    /// Returns whether the disk is there.
    pub(crate) fn has_disk(&self) -> bool {
        self.workspace().join(RUNTIME).exists()
    }

    /// Returns the disk id, if there is a disk.
    pub(crate) fn runtime(&self) -> Option<RuntimeId> {
        let text = fs::read_to_string(self.workspace().join(RUNTIME)).ok()?;
        RuntimeId::parse(text.trim()).ok()
    }

    /// Removes the disk and the homes. They are gone at once, and their content afterwards.
    pub(crate) fn remove_disk(&self, unique: &str) -> io::Result<()> {
        let mut gone = Vec::new();
        for (folder, name) in [(self.workspace(), "disk"), (self.homes(), "homes")] {
            let place = self.base.join(format!("{REMOVED}{unique}-{name}"));
            match fs::rename(folder, &place) {
                Ok(()) => gone.push(place),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        gone.iter().try_for_each(|place| remove(place))
    }

    /// Returns the disks that an earlier process began to remove.
    pub(crate) fn leftovers(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.base)? {
            let entry = entry?;
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(REMOVED.as_bytes())
            {
                found.push(entry.path());
            }
        }
        Ok(found)
    }
}

/// Removes a disk that has the final name.
pub(crate) fn remove(disk: &Path) -> io::Result<()> {
    make_writable(disk)?;
    fs::remove_dir_all(disk)
}

/// Permits a tree's folders to remove their entries: store entries are read-only.
fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Links are not followed.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_that_was_interrupted_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let places =
            Places::create(folder.path(), &Resource::parse("repo:acme/app").unwrap()).unwrap();
        fs::create_dir_all(places.workspace()).unwrap();
        let disk = places.workspace().with_file_name("removed-1");
        fs::create_dir_all(disk.join("deps/entry")).unwrap();
        fs::write(disk.join("deps/entry/file"), "x").unwrap();
        fs::set_permissions(disk.join("deps/entry"), fs::Permissions::from_mode(0o500)).unwrap();
        assert_eq!(places.leftovers().unwrap(), [disk.as_path()]);
        remove(&disk).unwrap();
        assert_eq!(places.leftovers().unwrap(), Vec::<PathBuf>::new());
        assert!(places.workspace().exists());
    }
}
