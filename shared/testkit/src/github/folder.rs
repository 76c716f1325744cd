//! A host's folder: temporary, or kept with its items' state.
//!
//! In a kept folder each bare repository `<owner>/<name>.git` exists at the next request.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::state::{FakeRepository, HostState};

/// The file in a kept folder that has issues, pull requests and checks. Owner names do not begin
/// with a dot.
const STATE: &str = ".host.json";
/// Suffix of a bare repository's folder name.
const SUFFIX: &str = ".git";

/// The folder with a host's bare repositories.
pub(super) enum Folder {
    /// Removed with the host. Repositories are added by the test.
    Temporary(TempDir),
    /// Kept with the state.
    Kept(PathBuf),
}

impl Folder {
    pub(super) fn temporary() -> Self {
        Self::Temporary(TempDir::new().expect("a temporary folder"))
    }

    /// Opens a kept folder, and reads the state.
    ///
    /// # Errors
    /// Returns why the folder cannot be made, or the state cannot be read.
    pub(super) fn open(root: &Path) -> io::Result<(Self, HostState)> {
        fs::create_dir_all(root)?;
        let root = root.canonicalize()?;
        let state = match fs::read(root.join(STATE)) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => HostState::default(),
            Err(error) => return Err(error),
        };
        Ok((Self::Kept(root), state))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(root) => root,
        }
    }

    /// Returns a repository's path below the folder.
    pub(super) fn relative(&self, repository: &Path) -> Option<String> {
        Some(
            repository
                .strip_prefix(self.path())
                .ok()?
                .to_str()?
                .to_owned(),
        )
    }

    /// Adds repositories that were put into a kept folder.
    pub(super) fn discover(&self, state: &mut HostState) {
        let Self::Kept(root) = self else { return };
        for owner in listed(root) {
            for path in listed(&owner) {
                let Some(name) = name_of(root, &path).filter(|_| path.join("HEAD").is_file())
                else {
                    continue;
                };
                if let Some(known) = state.repositories.get_mut(&name) {
                    // The folder may have been moved.
                    known.path = path;
                } else {
                    let id = state.id();
                    let repository = FakeRepository {
                        id,
                        name: name.clone(),
                        path,
                        ..FakeRepository::default()
                    };
                    state.repositories.insert(name, repository);
                }
            }
        }
    }

    /// Stores the state in a kept folder.
    ///
    /// # Errors
    /// Returns why it is not stored.
    pub(super) fn store(&self, state: &HostState) -> io::Result<()> {
        let Self::Kept(root) = self else {
            return Ok(());
        };
        let unfinished = root.join(format!("{STATE}.unfinished"));
        fs::write(&unfinished, serde_json::to_vec(state)?)?;
        fs::rename(unfinished, root.join(STATE))
    }
}

/// Returns the folder entries that are named like a part of a repository's name.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let is_part = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_part).collect()
}

/// Returns `owner/name` for a bare repository's folder.
fn name_of(root: &Path, path: &Path) -> Option<String> {
    let below = path
        .strip_prefix(root)
        .ok()?
        .to_str()?
        .strip_suffix(SUFFIX)?;
    Some(below.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{super::state::FakeItem, *};

    #[test]
    fn kept_folder_keeps_items_of_its_repositories() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("code-host");
        let (folder, mut state) = Folder::open(&root).unwrap();
        for path in ["acme/Widget.git", ".hidden/a.git", "acme/no-suffix"] {
            fs::create_dir_all(root.join(path)).unwrap();
            fs::write(root.join(path).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        fs::create_dir_all(root.join("acme/unfinished.git")).unwrap();
        folder.discover(&mut state);
        assert_eq!(
            state.repositories.keys().collect::<Vec<_>>(),
            ["acme/widget"]
        );
        state
            .repositories
            .get_mut("acme/widget")
            .unwrap()
            .items
            .insert(7, FakeItem::default());
        folder.store(&state).unwrap();

        let (folder, mut again) = Folder::open(&root).unwrap();
        folder.discover(&mut again);
        assert_eq!(again.repositories["acme/widget"].items.len(), 1);
        assert_eq!(
            folder
                .relative(&again.repositories["acme/widget"].path)
                .unwrap(),
            "acme/Widget.git"
        );
        fs::write(root.join(STATE), "{").unwrap();
        assert!(
            Folder::open(&root).is_err(),
            "an unreadable state is not replaced"
        );
    }
}
