//! Makes and finds the workspaces of threads.
//!
//! Layout: `<root>/<digest of the thread key>/{tree,home,meta.json}`. A workspace is made in a folder beside its place
//! and renamed, so it exists completely or not at all. A tree is never replaced, because it may have unsaved work.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_ports::{Repository, Workspace, WorkspaceError, WorkspaceProvider, WorkspaceRequest};
use ars_types::ThreadKey;
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    environment::{ChildEnvironment, conceal_this_process},
    files::Files,
    git::Git,
    local::LocalWorkspace,
    making,
    meta::Meta,
};

/// Characters of a thread's digest in its folder's name: 128 bits.
const DIGEST_CHARS: usize = 32;

/// The workspaces under one folder.
pub struct GitWorkspaces {
    root: PathBuf,
    environment: Arc<ChildEnvironment>,
    opening: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl GitWorkspaces {
    /// Makes a provider for workspaces under `root`, an absolute path, which is created when needed.
    ///
    /// From here on other processes of this user cannot inspect the process: commands of agents are such processes.
    pub fn new(root: PathBuf, environment: ChildEnvironment) -> Self {
        conceal_this_process();
        Self { root, environment: Arc::new(environment), opening: Mutex::default() }
    }

    /// Returns the place of a thread's tree.
    pub fn tree_of(&self, thread: &ThreadKey) -> PathBuf {
        self.root.join(folder_name(thread)).join("tree")
    }

    /// Returns the lock of a thread, so that two clones never race for one place.
    fn lock_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        // Unused locks are removed, so the map is as small as the number of concurrent openings.
        opening.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(opening.entry(name.to_owned()).or_default())
    }

    /// Makes the workspace beside its place and renames it.
    async fn make(
        &self,
        place: &Path,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Meta, WorkspaceError> {
        let making = making::folder_in(self.root.clone()).await?;
        let git = Git { environment: &self.environment, place: making.path(), cancel };
        let made = making::fill(&git, request).await;
        let moved = made.and_then(|meta| {
            std::fs::rename(making.path(), place).map_err(|error| infra(&error)).map(|()| meta)
        });
        // Removing the rest of a failed clone may take long.
        drop(tokio::task::spawn_blocking(move || drop(making)).await);
        moved
    }
}

#[async_trait]
impl WorkspaceProvider for GitWorkspaces {
    async fn repository_of(&self, thread: &ThreadKey) -> Result<Option<Repository>, WorkspaceError> {
        let meta = Meta::read(&self.root.join(folder_name(thread)))?;
        Ok(meta.and_then(|meta| Some(Repository { name: meta.repository?, origin: meta.origin? })))
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        if let Some(obstacle) = self.environment.obstacle() {
            return Err(WorkspaceError::Refused(obstacle));
        }
        let name = folder_name(request.thread);
        let lock = self.lock_of(&name);
        let _alone = tokio::select! {
            alone = lock.lock() => alone,
            () = cancel.cancelled() => return Err(WorkspaceError::Cancelled),
        };
        let place = self.root.join(&name);
        let meta = match Meta::read(&place)? {
            Some(meta) => {
                meta.must_fit(request)?;
                meta
            }
            None => self.make(&place, request, cancel).await?,
        };
        let files = Files::open(&place.join("tree")).map_err(|error| infra(&error))?;
        Ok(Arc::new(LocalWorkspace {
            environment: Arc::clone(&self.environment),
            place,
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

pub(super) fn infra(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(error.to_string())
}
