//! The only mapping from plan paths to disk paths.
//!
//! A path begins with `/workspace` or `/home` and has no `.` and `..`. Folders are opened beneath
//! their root, and no link is followed on the way. Not here: plan paths (`ars_resident::layout`).

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Component, Path, PathBuf},
};

use ars_resident::layout::{HOMES, OPS, THREADS, WORKSPACE};
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::failure::{Context as _, Result, invalid};

/// Path components of a thread's tree, and of an operation's checkout, below the workspace.
const TREE_DEPTH: usize = 3;

/// The workspace and home roots.
#[derive(Debug)]
pub(crate) struct Places {
    root: PathBuf,
    homes: PathBuf,
    root_fd: OwnedFd,
    homes_fd: OwnedFd,
}

impl Places {
    /// Opens the roots, which exist.
    pub(crate) fn open(root: &Path, homes: &Path) -> std::io::Result<Self> {
        let (root, homes) = (root.canonicalize()?, homes.canonicalize()?);
        let root_fd = File::open(&root)?.into();
        let homes_fd = File::open(&homes)?.into();
        Ok(Self {
            root,
            homes,
            root_fd,
            homes_fd,
        })
    }

    /// Returns the folder that stands for `/workspace`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folders that stand for `/workspace` and `/home`.
    pub(crate) fn roots(&self) -> [&Path; 2] {
        [&self.root, &self.homes]
    }

    /// Returns a plan path's real path.
    pub(crate) fn real(&self, path: &str) -> Result<PathBuf> {
        let (base, rest) = self.split(path)?;
        Ok(if rest.as_os_str().is_empty() {
            base.to_owned()
        } else {
            base.join(rest)
        })
    }

    /// Returns a program argument: a workspace path becomes real, other text is unchanged.
    pub(crate) fn argument(&self, text: &str) -> Result<OsString> {
        let is_path = text == WORKSPACE || text.starts_with(&format!("{WORKSPACE}/"));
        if is_path {
            self.real(text).map(PathBuf::into_os_string)
        } else {
            Ok(text.into())
        }
    }

    /// Opens a folder. Refuses a link anywhere in the path.
    pub(crate) fn open_dir(&self, path: &str) -> Result<OwnedFd> {
        self.open_as(path, OFlags::RDONLY)
    }

    fn open_as(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        let (base, rest) = self.split(path)?;
        let root = if base == self.root {
            &self.root_fd
        } else {
            &self.homes_fd
        };
        let rest = if rest.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &rest
        };
        open_with(root, rest, flags).context(path)
    }

    /// Opens a command's folder. The owner gets the rights back that an earlier command removed,
    /// without which no command could start there. Refuses a link anywhere in the path.
    pub(crate) fn open_usable_dir(&self, path: &str) -> Result<OwnedFd> {
        let folder = self.open_as(path, OFlags::PATH)?;
        let mode = fstat(&folder).context(path)?.st_mode;
        if mode & Mode::RWXU.bits() != Mode::RWXU.bits() {
            // A mode cannot be set by a descriptor that only names the folder.
            let named = format!("/proc/self/fd/{}", folder.as_raw_fd());
            let whole = mode & Mode::all().bits() | Mode::RWXU.bits();
            fs::set_permissions(named, Permissions::from_mode(whole)).context(path)?;
        }
        self.open_dir(path)
    }

    /// Opens a path's folder, and returns the last component.
    pub(crate) fn parent(&self, path: &str) -> Result<(OwnedFd, OsString)> {
        self.split(path)?;
        match path.rsplit_once('/') {
            Some((parent, name))
                if parent != WORKSPACE && parent != HOMES && !parent.is_empty() =>
            {
                Ok((self.open_dir(parent)?, name.into()))
            }
            Some((parent, name)) if !parent.is_empty() => Ok((self.open_dir(parent)?, name.into())),
            _ => Err(invalid(format!("{path} is a root"))),
        }
    }

    /// Opens a path's tree, for a thread or an operation, and returns the rest of the path. Links
    /// in the rest are followed within the tree only.
    pub(crate) fn in_tree(&self, path: &str) -> Result<(Dir, PathBuf)> {
        let (_, rest) = self.split(path)?;
        if !path.starts_with(&format!("{THREADS}/")) && !path.starts_with(&format!("{OPS}/")) {
            return Err(invalid(format!("{path} is in no tree")));
        }
        let parts: Vec<&OsStr> = rest.iter().collect();
        if parts.len() <= TREE_DEPTH {
            return Err(invalid(format!("{path} names no file")));
        }
        let tree: PathBuf = parts[..TREE_DEPTH].iter().collect();
        let tree = open_beneath(&self.root_fd, &tree).context(path)?;
        Ok((
            Dir::from_std_file(File::from(tree)),
            parts[TREE_DEPTH..].iter().collect(),
        ))
    }

    fn split(&self, path: &str) -> Result<(&Path, PathBuf)> {
        let roots = [(WORKSPACE, &self.root), (HOMES, &self.homes)];
        let found = roots.into_iter().find_map(|(prefix, root)| {
            let rest = path.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((root, rest))
        });
        let Some((root, rest)) = found else {
            return Err(invalid(format!("{path} is outside of the workspace")));
        };
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let has_dots = rest
            .split('/')
            .any(|part| part == "." || (part.is_empty() && !rest.is_empty()));
        if has_dots || !Path::new(rest).components().all(is_plain) || rest.contains('\0') {
            return Err(invalid(format!("{path} is outside of the workspace")));
        }
        Ok((root, rest.into()))
    }
}

/// Opens a folder beneath another folder, without links.
pub(crate) fn open_beneath(base: &OwnedFd, rest: &Path) -> rustix::io::Result<OwnedFd> {
    open_with(base, rest, OFlags::RDONLY)
}

fn open_with(base: &OwnedFd, rest: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(base, rest, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("w/threads/t/main/sub")).unwrap();
        std::fs::create_dir(dir.path().join("h")).unwrap();
        let places = Places::open(&dir.path().join("w"), &dir.path().join("h")).unwrap();
        (dir, places)
    }

    #[test]
    fn paths_outside_are_refused() {
        let (_dir, places) = places();
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "workspace/x",
            "/workspace/../etc",
            "/workspace/a/../../b",
            "/workspaces/x",
            "/workspace//etc",
            "/workspace/./a",
            "/home/../etc",
            "/workspace/a\0b",
        ] {
            assert!(places.real(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            places.real("/workspace/mirror").unwrap(),
            places.root().join("mirror")
        );
        assert_eq!(
            places.argument("--file=/workspace/x").unwrap(),
            "--file=/workspace/x"
        );
        assert!(places.argument("/workspace/../x").is_err());
    }

    #[test]
    fn links_are_not_followed_out_of_the_tree() {
        let (dir, places) = places();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        let tree = dir.path().join("w/threads/t/main");
        symlink(dir.path(), tree.join("out")).unwrap();
        symlink("sub", tree.join("in")).unwrap();
        symlink(&tree, dir.path().join("w/threads/t/moved")).unwrap();
        let (folder, rest) = places
            .in_tree("/workspace/threads/t/main/out/secret")
            .unwrap();
        assert!(folder.open(rest).is_err());
        let (folder, rest) = places.in_tree("/workspace/threads/t/main/in").unwrap();
        assert!(folder.open_dir(rest).is_ok());
        assert!(
            places.in_tree("/workspace/threads/t/moved/sub").is_err(),
            "the tree itself is a link"
        );
        assert!(places.open_dir("/workspace/threads/t/main/out").is_err());
        assert!(places.in_tree("/workspace/mirror/config").is_err());
        assert!(places.in_tree("/workspace/threads/t/main").is_err());
    }
}
