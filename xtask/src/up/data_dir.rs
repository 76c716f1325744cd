//! An installation's directory: lock and layout.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ars_workerd::repo_root;
use sha2::{Digest, Sha256};

/// Prefix for an edge Worker's name, by which `xtask/engine/src/reaper.rs` removes stopped
/// containers.
const EDGE_NAME: &str = "ars-bot";
/// Prefix for the names of the resident Worker and its containers.
const RESIDENT_NAME: &str = "ars-residents";
/// Bytes from a directory's digest in it: no two directories on a machine have the same.
const NAME_BYTES: usize = 6;

/// A data directory that no other `up` uses, for as long as this value lives.
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Locks the directory, or names the process that has locked it.
    pub fn claim(wanted: Option<&Path>) -> Result<Self> {
        let path = wanted.map_or_else(|| repo_root().join(".ars"), Path::to_owned);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let path = path.canonicalize()?;
        // Tokens, transcripts and working trees are the user's own.
        fs::set_permissions(&path, Permissions::from_mode(0o700))
            .with_context(|| format!("cannot make {} private", path.display()))?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the bot keeps its own data.
    pub fn bot(&self) -> PathBuf {
        self.path.join("bot")
    }

    /// Where workerd keeps the Durable Objects.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// Returns where the rehearsal host keeps its repositories.
    pub fn code_host(&self) -> PathBuf {
        self.path.join("code-host")
    }

    /// Returns where workerd keeps the residents' objects and archives.
    pub fn residents(&self) -> PathBuf {
        self.path.join("residents")
    }

    /// Returns the resident Worker's name, which is part of its containers' names and differs by directory.
    pub fn resident_name(&self) -> String {
        format!("{RESIDENT_NAME}-{}", self.digest())
    }

    /// Returns the edge Worker's name, which is part of its container's name and differs by directory.
    pub fn edge_name(&self) -> String {
        format!("{EDGE_NAME}-{}", self.digest())
    }

    fn digest(&self) -> String {
        let digest = Sha256::digest(self.path.as_os_str().as_encoded_bytes());
        hex::encode(&digest[..NAME_BYTES])
    }

    /// Returns the bot log's path.
    pub fn log(&self) -> PathBuf {
        self.path.join("bot.log")
    }

    /// Another file or folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn lock(path: &Path) -> Result<File> {
    let place = path.join("up.lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&place)
        .with_context(|| format!("cannot open {}", place.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut owner = String::new();
            // The number is a courtesy; without it the refusal is as clear.
            let _ = file.read_to_string(&mut owner);
            let owner = owner.trim();
            let owner = if owner.is_empty() {
                String::new()
            } else {
                format!(" (process {owner})")
            };
            bail!(
                "{} is in use by another `cargo xtask up`{owner}: stop it, or choose another --data-dir",
                path.display()
            );
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", place.display()));
        }
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// Writes a file that only the user may read, whole or not at all.
pub fn write_private(path: &Path, text: &str) -> Result<()> {
    let unfinished = path.with_extension(format!("unfinished-{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_has_its_own_edge() {
        let dir = tempfile::tempdir().unwrap();
        let name = |place: &str| {
            DataDir::claim(Some(&dir.path().join(place)))
                .unwrap()
                .edge_name()
        };
        assert_eq!(name("a"), name("a"));
        assert_ne!(name("a"), name("b"));
        assert!(name("a").starts_with("ars-bot-"), "{}", name("a"));
    }

    #[test]
    fn a_directory_has_one_user_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("data");
        let wanted = Some(place.as_path());
        let first = DataDir::claim(wanted).unwrap();
        let refused = DataDir::claim(wanted).err().unwrap().to_string();
        assert!(
            refused.contains(&format!("process {}", std::process::id())),
            "{refused}"
        );
        drop(first);
        assert!(DataDir::claim(wanted).is_ok());
    }

    #[test]
    fn what_is_written_is_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready.json");
        write_private(&path, "{}").unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
