//! Makes and finds the workspaces of threads.
//!
//! Layout: `<root>/<digest of the thread key>/{tree,home,meta.json}`. A workspace is made in a folder beside its place
//! and renamed, so it exists completely or not at all. A tree is never replaced, because it may have unsaved work.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ars_bot_ports::{Repository, Workspace, WorkspaceError, WorkspaceProvider, WorkspaceRequest};
use ars_types::{SandboxKind, ThreadKey};
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
    programs::Programs,
};
use crate::sandbox::{Folders, Network, SandboxSettings, choose};

/// Characters of a thread's digest in its folder's name: 128 bits.
const DIGEST_CHARS: usize = 32;

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    /// The kind of sandbox.
    pub kind: SandboxKind,
    /// The network of commands.
    pub network: Network,
    /// What commands can still do.
    pub gap: Option<&'static str>,
}

/// The workspaces under one folder.
pub struct GitWorkspaces {
    root: PathBuf,
    data_dir: PathBuf,
    programs: OnceLock<Result<Arc<Programs>, String>>,
    environment: ChildEnvironment,
    settings: SandboxSettings,
    opening: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl GitWorkspaces {
    /// Makes a provider for workspaces in the data directory, an absolute path, which is created when needed.
    ///
    /// From here on other processes of this user cannot inspect the process: commands of agents are such processes.
    pub fn new(data_dir: &Path, environment: ChildEnvironment, settings: SandboxSettings) -> Self {
        conceal_this_process();
        let root = data_dir.join("workspaces");
        let (programs, opening) = (OnceLock::new(), Mutex::default());
        Self { data_dir: data_dir.into(), root, programs, environment, settings, opening }
    }

    /// Returns the programs of workspaces, or why there can be none. The first call tries the sandbox out.
    fn programs(&self) -> Result<&Arc<Programs>, &str> {
        let find = || {
            let variables = self.environment.variables();
            let home = self.environment.service_home();
            let folders = Folders::select(variables, &self.settings.readable, &self.data_dir, home);
            Programs::find(self.environment.clone(), || choose(&self.settings, folders)).map(Arc::new)
        };
        self.programs.get_or_init(find).as_ref().map_err(String::as_str)
    }

    /// Returns the confinement of commands, or why there is none and how to mend it. The first call tries it out.
    pub fn confinement(&self) -> Result<Confinement, String> {
        let programs = self.programs()?;
        let sandbox = &programs.sandbox;
        Ok(Confinement { kind: sandbox.kind(), network: sandbox.network(), gap: sandbox.gap() })
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
        programs: &Programs,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Meta, WorkspaceError> {
        let making = making::folder_in(place.parent().unwrap_or(place).to_path_buf()).await?;
        let git = Git { programs, place: making.path(), cancel };
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
    fn sandbox(&self) -> Option<SandboxKind> {
        self.confinement().ok().map(|confinement| confinement.kind)
    }

    async fn repository_of(&self, thread: &ThreadKey) -> Result<Option<Repository>, WorkspaceError> {
        let meta = Meta::read(&self.root.join(folder_name(thread)))?;
        Ok(meta.and_then(|meta| Some(Repository { name: meta.repository?, origin: meta.origin? })))
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let programs = self.programs().map_err(|obstacle| WorkspaceError::Refused(obstacle.to_owned()))?;
        let name = folder_name(request.thread);
        let lock = self.lock_of(&name);
        let _alone = tokio::select! {
            alone = lock.lock() => alone,
            () = cancel.cancelled() => return Err(WorkspaceError::Cancelled),
        };
        let place = canonical(&self.root)?.join(&name);
        let meta = match Meta::read(&place)? {
            Some(meta) => {
                meta.must_fit(request)?;
                meta
            }
            None => self.make(&place, programs, request, cancel).await?,
        };
        let files = Files::open(&place.join("tree")).map_err(|error| infra(&error))?;
        Ok(Arc::new(LocalWorkspace {
            programs: Arc::clone(programs),
            place,
            files: Arc::new(files),
            repository: meta.repository,
            base: meta.base,
        }))
    }
}

/// Returns the root without links, which a sandbox does not follow. It is created when needed.
fn canonical(root: &Path) -> Result<PathBuf, WorkspaceError> {
    std::fs::create_dir_all(root).and_then(|()| root.canonicalize()).map_err(|error| infra(&error))
}

fn folder_name(thread: &ThreadKey) -> String {
    let digest = Sha256::digest(thread.as_str().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..DIGEST_CHARS].to_owned()
}

pub(super) fn infra(error: &io::Error) -> WorkspaceError {
    WorkspaceError::Infra(error.to_string())
}
