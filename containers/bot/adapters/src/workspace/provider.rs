//! Makes and finds the workspaces of threads.
//!
//! Layout: `<root>/<digest of the thread key>/{tree,home,meta.json}`. A workspace is made in a folder beside and
//! renamed into place, so it exists whole or not at all. A tree is never replaced: it may hold unsaved work.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_core::ports::{Repository, Workspace, WorkspaceError, WorkspaceProvider, WorkspaceRequest};
use ars_types::{RefName, ThreadKey};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    environment::ChildEnvironment,
    files::Files,
    git::{CLONE_TIMEOUT, Git, own_words, without_userinfo},
    local::LocalWorkspace,
};

/// Characters of a thread's digest in its folder's name: 128 bits.
const DIGEST_CHARS: usize = 32;

/// What a workspace began as.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Meta {
    repository: Option<String>,
    origin: Option<String>,
    base: Option<String>,
}

/// The workspaces under one folder.
pub struct GitWorkspaces {
    root: PathBuf,
    environment: Arc<ChildEnvironment>,
    opening: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl GitWorkspaces {
    /// Workspaces under `root`, which is made when needed.
    pub fn new(root: PathBuf, environment: ChildEnvironment) -> Self {
        Self { root, environment: Arc::new(environment), opening: Mutex::default() }
    }

    /// Where a thread's tree is or would be.
    pub fn tree_of(&self, thread: &ThreadKey) -> PathBuf {
        self.root.join(folder_name(thread)).join("tree")
    }

    /// One opener per thread at a time: two clones never race for one place.
    fn lock_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks nobody holds are forgotten, so the map stays as small as the number of openings under way.
        opening.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(opening.entry(name.to_owned()).or_default())
    }

    async fn make(
        &self,
        place: &Path,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Meta, WorkspaceError> {
        std::fs::create_dir_all(&self.root).map_err(|error| infra(&error))?;
        let making = tempfile::Builder::new()
            .prefix(".making-")
            .tempdir_in(&self.root)
            .map_err(|error| infra(&error))?;
        let home = making.path().join("home");
        std::fs::create_dir(&home).map_err(|error| infra(&error))?;
        let git = Git { environment: &self.environment, home: &home, directory: making.path() };
        match request.repository {
            Some(repository) => clone(&git, repository, cancel).await?,
            None => drop(git.must(&["init", "--quiet", "--", "tree"]).await?),
        }
        let tree = making.path().join("tree");
        let git = Git { directory: &tree, ..git };
        if let (Some(git_ref), Some(_)) = (request.git_ref, request.repository) {
            check_out(&git, git_ref, cancel).await?;
        }
        let head =
            git.call(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], CLONE_TIMEOUT, cancel).await?;
        let meta = Meta {
            repository: request.repository.map(|repository| repository.name.clone()),
            origin: request.repository.map(|repository| repository.origin.clone()),
            base: (head.exit_code == 0).then(|| head.output.trim().to_owned()),
        };
        let text = serde_json::to_vec(&meta).map_err(|error| WorkspaceError::Infra(error.to_string()))?;
        std::fs::write(making.path().join("meta.json"), text).map_err(|error| infra(&error))?;
        std::fs::rename(making.path(), place).map_err(|error| infra(&error))?;
        Ok(meta)
    }
}

#[async_trait]
impl WorkspaceProvider for GitWorkspaces {
    async fn repository_of(&self, thread: &ThreadKey) -> Result<Option<Repository>, WorkspaceError> {
        let meta = read_meta(&self.root.join(folder_name(thread)))?;
        Ok(meta.and_then(|meta| Some(Repository { name: meta.repository?, origin: meta.origin? })))
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let name = folder_name(request.thread);
        let lock = self.lock_of(&name);
        let _alone = lock.lock().await;
        let place = self.root.join(&name);
        let meta = match read_meta(&place)? {
            Some(meta) => {
                same_repository(&meta, request.repository)?;
                meta
            }
            None => self.make(&place, request, cancel).await?,
        };
        let tree = place.join("tree");
        let files = Files::open(&tree).map_err(|error| infra(&error))?;
        Ok(Arc::new(LocalWorkspace {
            environment: Arc::clone(&self.environment),
            tree,
            home: place.join("home"),
            files: Arc::new(files),
            repository: meta.repository,
            base: meta.base,
        }))
    }
}

fn folder_name(thread: &ThreadKey) -> String {
    let digest = Sha256::digest(thread.as_str().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..DIGEST_CHARS].to_owned()
}

fn read_meta(place: &Path) -> Result<Option<Meta>, WorkspaceError> {
    match std::fs::read(place.join("meta.json")) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|_| WorkspaceError::Infra("the workspace's meta.json is damaged".into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(infra(&error)),
    }
}

fn same_repository(meta: &Meta, wanted: Option<&Repository>) -> Result<(), WorkspaceError> {
    match wanted {
        Some(wanted) if meta.origin.as_deref() != Some(&wanted.origin) => {
            let own = meta.repository.as_deref().unwrap_or("no repository");
            Err(WorkspaceError::Refused(format!(
                "this thread works on {own}; its tree may hold unsaved work. Use another thread for another repository."
            )))
        }
        _ => Ok(()),
    }
}

async fn clone(
    git: &Git<'_>,
    repository: &Repository,
    cancel: &CancellationToken,
) -> Result<(), WorkspaceError> {
    // Own copies of the objects: an agent must not be able to touch the origin's files through a hard link.
    let arguments = ["clone", "--quiet", "--no-hardlinks", "--end-of-options", &repository.origin, "tree"];
    let outcome = git.call(&arguments, CLONE_TIMEOUT, cancel).await?;
    if outcome.exit_code == 0 {
        return Ok(());
    }
    let origin = without_userinfo(&repository.origin);
    Err(WorkspaceError::Clone(format!("{origin} could not be cloned: {}", own_words(&outcome))))
}

/// A branch of the origin, a tag, or a commit.
async fn check_out(
    git: &Git<'_>,
    git_ref: &RefName,
    cancel: &CancellationToken,
) -> Result<(), WorkspaceError> {
    let outcome = git.call(&["checkout", "--quiet", git_ref.as_str(), "--"], CLONE_TIMEOUT, cancel).await?;
    if outcome.exit_code == 0 {
        return Ok(());
    }
    Err(WorkspaceError::Clone(format!("{git_ref} could not be checked out: {}", own_words(&outcome))))
}

fn infra(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(error.to_string())
}
