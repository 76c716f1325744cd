//! Evicts clean trees, the least recently used first, when the workspaces exceed their limit.
//!
//! The step order prevents losing a tree that a run needs. The last-use times are read first, then
//! the caller reads the live runs, then each tree is checked. A tree is moved away only if it has
//! no user and the last-use time is still the same. A run claims its thread before it opens the
//! tree, and opening changes the time.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::{
    beneath::DIGEST_CHARS,
    checkpoint::prune,
    clean::is_clean,
    disk::{blocking, infra},
    environment::FOLDERS,
    git::Git,
    in_use::Unused,
    meta::Meta,
    programs::Programs,
    provider::{GitWorkspaces, folder_name_of},
    tool,
};

/// Time since the last use from which a tree may be evicted.
const MIN_IDLE: Duration = Duration::from_secs(10 * 60);
/// Prefix for a folder with an evicted workspace that is being removed.
pub(super) const EVICTED: &str = ".evicted-";

/// The workspaces on the disk.
#[derive(Debug, Default)]
pub struct DiskUsage {
    workspaces: Vec<Measured>,
}

#[derive(Debug)]
struct Measured {
    name: String,
    used_at: SystemTime,
    bytes: u64,
    is_idle: bool,
}

/// Result that an eviction returns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Bytes freed by evicting workspaces.
    pub freed_bytes: u64,
    /// How many workspaces were evicted.
    pub count: usize,
    /// Workspaces that stay because their tree has work, or cannot be checked.
    pub kept: Vec<PathBuf>,
}

impl DiskUsage {
    /// Returns all workspaces' size in bytes.
    pub fn bytes(&self) -> u64 {
        self.workspaces
            .iter()
            .map(|workspace| workspace.bytes)
            .fold(0, u64::saturating_add)
    }
}

impl GitWorkspaces {
    /// Measures all workspaces. Removes leftovers from an earlier eviction, and old checkpoints.
    ///
    /// # Errors
    /// There is no sandbox, without which agents' trees are not looked at, or the disk failed.
    pub async fn measure(&self) -> Result<DiskUsage, WorkspaceError> {
        let programs = self
            .programs()
            .map_err(|obstacle| WorkspaceError::Refused(obstacle.to_owned()))?;
        if let Err(error) = prune(programs, self.data_dir()).await {
            tracing::warn!(%error, "checkpoints were not pruned");
        }
        let root = self.root().to_path_buf();
        let (names, leftovers) = blocking(move || listed(&root)).await?;
        for place in leftovers {
            remove(programs, &place).await;
        }
        let mut workspaces = Vec::new();
        for name in names {
            let Some((used_at, is_idle)) = self.last_use(&name).await? else {
                continue;
            };
            let (bytes, is_idle) = match self.known_size(&name, used_at) {
                Some(bytes) => (bytes, is_idle),
                None => match disk_bytes(programs, &self.root().join(&name)).await {
                    Ok(bytes) => {
                        self.note_size(&name, is_idle.then_some((used_at, bytes)));
                        (bytes, is_idle)
                    }
                    // It stays, and does not keep the others from eviction.
                    Err(error) => {
                        tracing::warn!(workspace = name, %error, "a workspace was not measured");
                        (0, false)
                    }
                },
            };
            workspaces.push(Measured {
                name,
                used_at,
                bytes,
                is_idle,
            });
        }
        Ok(DiskUsage { workspaces })
    }

    /// Returns the size of the workspaces' disk, if it can be read.
    pub fn disk_size(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.root()).ok()?;
        disk.f_frsize.checked_mul(disk.f_blocks)
    }

    /// Evicts clean trees until the workspaces have at most `max_bytes`.
    ///
    /// `live` are the threads with a live run, read after `usage`. Trees without an origin stay, because they cannot be
    /// cloned again.
    ///
    /// # Errors
    /// There is no sandbox, or the disk failed. Trees that were evicted before stay so.
    pub async fn evict(
        &self,
        usage: DiskUsage,
        live: &HashSet<String>,
        max_bytes: u64,
    ) -> Result<Evicted, WorkspaceError> {
        let programs = self
            .programs()
            .map_err(|obstacle| WorkspaceError::Refused(obstacle.to_owned()))?;
        let live: HashSet<_> = live.iter().map(|thread| folder_name_of(thread)).collect();
        let mut left = usage.bytes();
        let mut evicted = Evicted::default();
        let mut candidates = usage.workspaces;
        candidates.sort_by_key(|workspace| workspace.used_at);
        for workspace in candidates {
            if left <= max_bytes {
                break;
            }
            let age = workspace.used_at.elapsed().unwrap_or_default();
            if !workspace.is_idle || age < MIN_IDLE || live.contains(&workspace.name) {
                continue;
            }
            let place = self.root().join(&workspace.name);
            let Some(meta) = self.evictable(programs, &workspace.name, &place).await? else {
                evicted.kept.push(place);
                continue;
            };
            let moved = match self.move_away(&workspace, meta).await {
                Ok(Some(moved)) => moved,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(workspace = workspace.name, %error, "a workspace was not evicted");
                    continue;
                }
            };
            remove(programs, &moved).await;
            left = left.saturating_sub(workspace.bytes);
            evicted.freed_bytes += workspace.bytes;
            evicted.count += 1;
            tracing::info!(workspace = %place.display(), bytes = workspace.bytes, "a clean working tree was evicted");
        }
        Ok(evicted)
    }

    /// Returns the last-use time, and whether the workspace has no user now. `None` without a
    /// workspace.
    async fn last_use(&self, name: &str) -> Result<Option<(SystemTime, bool)>, WorkspaceError> {
        let (root, name) = (self.root().to_path_buf(), name.to_owned());
        blocking(move || {
            if let Some(unused) = Unused::lock(&root, &name).map_err(|error| infra(&error))? {
                return unused
                    .used_at()
                    .map(|at| Some((at, true)))
                    .map_err(|error| infra(&error));
            }
            let modified = root
                .join(&name)
                .symlink_metadata()
                .and_then(|found| found.modified())
                .ok();
            Ok(modified.map(|at| (at, false)))
        })
        .await
    }

    /// Returns the metadata for a workspace with a clean tree that can be cloned again.
    async fn evictable(
        &self,
        programs: &Programs,
        name: &str,
        place: &Path,
    ) -> Result<Option<Meta>, WorkspaceError> {
        let (data, owned) = (self.data_dir().to_path_buf(), name.to_owned());
        let meta = blocking(move || Ok(Meta::read(&data, &owned).ok().flatten())).await?;
        let Some(meta) = meta.filter(|meta| meta.origin.is_some() && meta.repository.is_some())
        else {
            return Ok(None);
        };
        let git = Git {
            programs,
            place,
            cancel: &CancellationToken::new(),
            group: None,
        };
        let checked = match is_clean(&git, meta.base.as_deref()).await {
            // The thread's next tree continues from the last state, such as a branch that was
            // pushed.
            Ok(true) => self.save_last(programs, name, meta).await.map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match checked {
            Ok(meta) => Ok(meta),
            Err(error) => {
                tracing::warn!(workspace = name, %error, "a working tree cannot be checked and stays");
                Ok(None)
            }
        }
    }

    /// Moves a workspace away. Returns `None` if it was used since it was measured.
    async fn move_away(
        &self,
        workspace: &Measured,
        meta: Meta,
    ) -> Result<Option<PathBuf>, WorkspaceError> {
        let (data, root) = (self.data_dir().to_path_buf(), self.root().to_path_buf());
        let (name, used_at) = (workspace.name.clone(), workspace.used_at);
        blocking(move || {
            let failed = |error: std::io::Error| infra(&error);
            let Some(unused) = Unused::lock(&root, &name).map_err(failed)? else {
                return Ok(None);
            };
            if unused.used_at().map_err(failed)? != used_at {
                return Ok(None);
            }
            let moved = tempfile::Builder::new()
                .prefix(EVICTED)
                .tempdir_in(&root)
                .map_err(failed)?
                .keep();
            // Before the tree is gone, so that the thread never loses its repository.
            Meta {
                evicted: true,
                ..meta
            }
            .write(&data, &name)?;
            std::fs::rename(root.join(&name), &moved).map_err(failed)?;
            Ok(Some(moved))
        })
        .await
    }
}

/// Returns workspace names, and where evicted workspaces are.
fn listed(root: &Path) -> Result<(Vec<String>, Vec<PathBuf>), WorkspaceError> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(infra(&error)),
    };
    let (mut names, mut leftovers) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.len() == DIGEST_CHARS && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            names.push(name);
        } else if name.starts_with(EVICTED) {
            leftovers.push(entry.path());
        }
    }
    Ok((names, leftovers))
}

/// Returns the bytes that a workspace has on the disk.
async fn disk_bytes(programs: &Programs, place: &Path) -> Result<u64, WorkspaceError> {
    let output = tool::run(programs, "du", place, &["-skx", "--", "."]).await?;
    let kib = output
        .split_ascii_whitespace()
        .next()
        .and_then(|kib| kib.parse::<u64>().ok());
    let kib =
        kib.ok_or_else(|| WorkspaceError::Infra("a workspace could not be measured".into()))?;
    Ok(kib.saturating_mul(1024))
}

/// Removes a workspace that was moved away. A rest is logged, and removed by the next measurement.
pub(super) async fn remove(programs: &Programs, place: &Path) {
    let content = ["-rf", "--", "tree", "home", "tmp"];
    // Some package managers make folders that their owner cannot change.
    let writable = ["-R", "u+rwX", "--", "."];
    for (program, arguments) in [("rm", &content[..]), ("chmod", &writable), ("rm", &content)] {
        let folders = place.to_path_buf();
        let _ = blocking(move || {
            make_folders(&folders);
            Ok(())
        })
        .await;
        if let Err(error) = tool::run(programs, program, place, arguments).await {
            tracing::warn!(place = %place.display(), %error, "{program} failed in an evicted workspace");
        }
        let place = place.to_path_buf();
        if blocking(move || Ok(remove_empty(&place)))
            .await
            .unwrap_or_default()
        {
            return;
        }
    }
    tracing::warn!(place = %place.display(), "an evicted workspace is not removed yet");
}

/// Makes the folders that a sandbox expects in a workspace.
fn make_folders(place: &Path) {
    for name in FOLDERS {
        // Mostly it exists.
        let _ = std::fs::create_dir(place.join(name));
    }
}

/// Removes a folder with empty folders, and service files beside them. Returns whether it is gone.
fn remove_empty(place: &Path) -> bool {
    let mut are_gone = true;
    for name in FOLDERS {
        // A bind mount leaves an empty folder.
        let removed = std::fs::remove_dir(place.join(name));
        are_gone &= removed.is_ok() || !place.join(name).exists();
    }
    // Nothing from an agent is left.
    are_gone && std::fs::remove_dir_all(place).is_ok()
}
