//! Copies the readable `/etc` settings, which a single mount shows to a program.
//!
//! Bubblewrap reads its mounts again after each mount, so forty mounts for named files cost more
//! than everything else at startup. The copy belongs to the service, in a folder that no command
//! reaches, and follows its sources. Not here: which settings are readable (`folders`).

use std::{
    fs::{self, FileTimes, Metadata, Permissions},
    io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Folder that contains the settings.
pub(super) const SETTINGS: &str = "/etc";
/// Time after which the sources are compared again.
const COMPARE_INTERVAL: Duration = Duration::from_secs(5);
/// Most files, links and folders that are copied.
const ENTRIES_MAX: usize = 20_000;
/// Most bytes that are copied.
const BYTES_MAX: u64 = 64 << 20;
/// Permissions that a copy keeps.
const PERMISSIONS: u32 = 0o777;
/// Permissions for a folder that is being filled.
const PRIVATE: u32 = 0o700;
/// Name for a file that is not complete yet.
const PARTIAL: &str = ".ars-partial";

/// The staged settings copy.
#[derive(Debug)]
pub(super) struct Staged {
    source: PathBuf,
    folder: PathBuf,
    /// All paths that programs may read, the settings among them.
    readable: Vec<PathBuf>,
    compared: Mutex<Compared>,
}

/// The last comparison with the sources.
#[derive(Debug, Default)]
struct Compared {
    at: Option<Instant>,
    is_usable: bool,
}

/// The files and bytes that a comparison may still copy.
struct Budget {
    entries: usize,
    bytes: u64,
}

impl Staged {
    /// Returns a copy with the settings among the readable paths, which the first program makes.
    /// Several processes may share the folder, because each file is replaced as a whole.
    pub(super) fn new(folder: PathBuf, readable: &[PathBuf]) -> Self {
        Self::from_source(Path::new(SETTINGS), folder, readable)
    }

    fn from_source(source: &Path, folder: PathBuf, readable: &[PathBuf]) -> Self {
        let (source, readable) = (source.into(), readable.into());
        Self {
            source,
            folder,
            readable,
            compared: Mutex::default(),
        }
    }

    /// Returns the folder, whose content equals the sources moments ago. Returns `None` if there
    /// can be no copy.
    pub(super) fn folder(&self) -> Option<&Path> {
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if compared.at.is_none_or(|at| at.elapsed() > COMPARE_INTERVAL) {
            match self.follow() {
                Ok(()) => compared.is_usable = true,
                // A trial makes no data directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !compared.is_usable => {}
                // An old copy serves better than none.
                Err(error) => tracing::warn!(%error, "the settings of /etc cannot be copied"),
            }
            compared.at = Some(Instant::now());
        }
        compared.is_usable.then_some(&*self.folder)
    }

    /// Makes the copy equal to the sources.
    fn follow(&self) -> io::Result<()> {
        if self.readable.contains(&self.source) {
            return Err(io::Error::other("all of the folder is readable"));
        }
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut budget = Budget {
            entries: ENTRIES_MAX,
            bytes: BYTES_MAX,
        };
        let named: Vec<&Path> = self
            .readable
            .iter()
            .filter_map(|path| path.strip_prefix(&self.source).ok())
            .collect();
        for name in &named {
            let target = self.folder.join(name);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            self.copy(&self.source.join(name), &target, &mut budget)?;
        }
        remove_others(&self.folder, Path::new(""), &named)
    }

    /// Copies a setting that differs. Unreadable files are left out. A link stays a link if
    /// programs can follow it.
    fn copy(&self, source: &Path, target: &Path, budget: &mut Budget) -> io::Result<()> {
        budget.entries = budget.entries.checked_sub(1).ok_or_else(too_much)?;
        let Ok(mut meta) = fs::symlink_metadata(source) else {
            return remove(target);
        };
        if meta.is_symlink() {
            let link = fs::read_link(source)?;
            let real = source.canonicalize().ok();
            if real
                .as_ref()
                .is_none_or(|real| self.readable.iter().any(|path| real.starts_with(path)))
            {
                if fs::read_link(target).is_ok_and(|copy| copy == link) {
                    return Ok(());
                }
                remove(target)?;
                return symlink(link, target);
            }
            let Ok(of_target) = fs::metadata(source) else {
                return remove(target);
            };
            meta = of_target;
        }
        match () {
            () if meta.is_dir() => self.copy_folder(source, target, &meta, budget),
            () if meta.is_file() => copy_file(source, target, &meta, budget),
            () => remove(target),
        }
    }

    fn copy_folder(
        &self,
        source: &Path,
        target: &Path,
        meta: &Metadata,
        budget: &mut Budget,
    ) -> io::Result<()> {
        if !fs::symlink_metadata(target).is_ok_and(|copy| copy.is_dir()) {
            remove(target)?;
            fs::create_dir(target)?;
        }
        let Ok(entries) = fs::read_dir(source) else {
            return remove(target);
        };
        fs::set_permissions(target, Permissions::from_mode(PRIVATE))?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            self.copy(&source.join(&name), &target.join(&name), budget)?;
            names.push(name);
        }
        for entry in fs::read_dir(target)? {
            let entry = entry?;
            if !names.contains(&entry.file_name()) {
                remove(&entry.path())?;
            }
        }
        fs::set_permissions(
            target,
            Permissions::from_mode(meta.permissions().mode() & PERMISSIONS),
        )
    }
}

/// Replaces a file if size, time or permissions differ.
fn copy_file(source: &Path, target: &Path, meta: &Metadata, budget: &mut Budget) -> io::Result<()> {
    budget.bytes = budget.bytes.checked_sub(meta.len()).ok_or_else(too_much)?;
    let mode = meta.permissions().mode() & PERMISSIONS;
    let is_same = |copy: Metadata| {
        copy.is_file()
            && copy.len() == meta.len()
            && copy.modified().ok() == meta.modified().ok()
            && copy.permissions().mode() & PERMISSIONS == mode
    };
    if fs::symlink_metadata(target).is_ok_and(is_same) {
        return Ok(());
    }
    let Ok(content) = fs::read(source) else {
        return remove(target);
    };
    let folder = target
        .parent()
        .ok_or_else(|| io::Error::other("a setting has no folder"))?;
    let mut partial = tempfile::Builder::new()
        .prefix(PARTIAL)
        .tempfile_in(folder)?;
    io::Write::write_all(&mut partial, &content)?;
    partial
        .as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    partial
        .as_file()
        .set_times(FileTimes::new().set_modified(meta.modified()?))?;
    if fs::symlink_metadata(target).is_ok_and(|copy| copy.is_dir()) {
        remove(target)?;
    }
    partial.persist(target)?;
    Ok(())
}

/// Removes copied settings that are not readable any more.
fn remove_others(root: &Path, folder: &Path, named: &[&Path]) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let path = folder.join(entry?.file_name());
        match () {
            () if named.iter().any(|name| path.starts_with(name)) => {}
            () if named.iter().any(|name| name.starts_with(&path)) => {
                remove_others(root, &path, named)?;
            }
            () => remove(&root.join(path))?,
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    // Another service process may have been faster.
    removed.or_else(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            Ok(())
        } else {
            Err(error)
        }
    })
}

fn too_much() -> io::Error {
    io::Error::other("the settings of /etc are too many to copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_follows_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (etc, copy) = (root.join("etc"), root.join("copy"));
        for name in ["usr", "secret", "etc/ssl/certs/deep", "etc/ssl/private"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, text) in [
            ("usr/zone", "zone"),
            ("secret/resolver", "resolver"),
            ("etc/hosts", "one"),
            ("etc/shadow", "secret"),
            ("etc/ssl/private/key", "secret"),
            ("etc/ssl/certs/deep/ca", "ca"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        symlink("../usr/zone", etc.join("localtime")).unwrap();
        symlink("../secret/resolver", etc.join("resolv.conf")).unwrap();
        let named =
            ["hosts", "localtime", "resolv.conf", "ssl/certs", "absent"].map(|name| etc.join(name));
        let readable = [&[root.join("usr")][..], &named].concat();
        let staged = Staged::from_source(&etc, copy.clone(), &readable);
        assert!(!copy.exists(), "only a program needs it");
        assert_eq!(staged.folder(), Some(&*copy));
        let read = |name: &str| fs::read_to_string(copy.join(name)).ok();
        assert_eq!(read("hosts").as_deref(), Some("one"));
        assert_eq!(read("ssl/certs/deep/ca").as_deref(), Some("ca"));
        assert_eq!(
            fs::read_link(copy.join("localtime")).unwrap(),
            Path::new("../usr/zone")
        );
        assert_eq!(
            read("resolv.conf").as_deref(),
            Some("resolver"),
            "its link leads to no readable folder"
        );
        assert!(!copy.join("shadow").exists() && !copy.join("ssl/private").exists());
        // Changed, removed, added, and left by an earlier configuration.
        fs::write(etc.join("hosts"), "more").unwrap();
        fs::remove_file(etc.join("ssl/certs/deep/ca")).unwrap();
        fs::write(etc.join("ssl/certs/new"), "new").unwrap();
        fs::create_dir_all(copy.join("ssl/old")).unwrap();
        staged.follow().unwrap();
        assert_eq!(read("hosts").as_deref(), Some("more"));
        assert_eq!(
            (read("ssl/certs/deep/ca"), read("ssl/certs/new").as_deref()),
            (None, Some("new"))
        );
        assert!(!copy.join("ssl/old").exists());
        assert_eq!(
            Staged::from_source(&etc, copy, std::slice::from_ref(&etc)).folder(),
            None,
            "a part would be missing"
        );
    }
}
