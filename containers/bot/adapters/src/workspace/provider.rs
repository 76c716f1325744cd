//! Makes and finds the workspaces of threads.
//!
//! Layout: `<root>/<digest of the thread key>/{tree,home,tmp}` and `<data>/meta/<digest>.json`. The root is
//! `<data>/workspaces`, or a folder that the configuration names. A workspace is made in a folder beside its place and
//! renamed, so it exists completely or not at all. A tree is never replaced, because it may have unsaved work. What is
//! no tree, such as a link in its place, is set aside.

mod open;

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::SystemTime,
};

use ars_bot_ports::{
    Checkpoint, CodeHost, CommandSandbox, Repository, Workspace, WorkspaceError, WorkspaceProvider,
    WorkspaceRequest,
};
use ars_types::{Cgroup, RunId, SandboxKind, SandboxNetwork, ThreadKey};
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    beneath::{DIGEST_CHARS, WORKSPACES},
    disk::{blocking, infra},
    environment::{ChildEnvironment, conceal_this_process},
    git::Git,
    in_use::InUse,
    making,
    meta::{Meta, open_tree},
    programs::Programs,
    trial,
};
use crate::{
    egress::{EgressSettings, GateKind, RunEgress, Scope},
    logins::Logins,
    sandbox::{Folders, Sandbox, SandboxSettings, choose},
    upstream::UpstreamProxy,
};

/// How commands are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The kind of sandbox.
    pub kind: SandboxKind,
    /// The network of commands.
    pub network: SandboxNetwork,
    /// The gaps that the sandbox leaves.
    pub gaps: Vec<&'static str>,
    /// Why a stronger kind was skipped.
    pub skipped: Option<String>,
    /// The control groups of runs.
    pub cgroup: Cgroup,
    /// Why runs have none.
    pub no_cgroup: Option<String>,
}

/// The parts from which commands are confined.
pub(crate) struct Commands {
    pub(crate) sandbox: Arc<Sandbox>,
    /// How commands reach a proxy, if they have one.
    pub(crate) gate: Option<GateKind>,
    pub(crate) egress: EgressSettings,
    pub(crate) logins: Logins,
    pub(crate) upstream: Arc<UpstreamProxy>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// The prefix of the names of workspaces without a usable tree.
const SET_ASIDE: &str = ".set-aside-";
/// The folder of copied settings in the data directory.
const STAGE: &str = "sandbox-etc";
/// The error of a missing tree.
const TREE_GONE: &str = "the working tree of this thread is missing or is not a folder any more: a message that names \
                         its repository with `repo:` clones it again";
/// The error of a tree that was evicted.
const TREE_EVICTED: &str = "the working tree of this thread had no unsaved work and was removed to free the disk: the \
                            next message of the thread clones it again";

/// The error of a tree that only its checkpoints are left of.
const TREE_ELSEWHERE: &str = "that thread has no working tree here, but its runs have checkpoints: `ars runs restore` \
                              gives back the tree of a run";

/// The workspaces under one folder.
pub struct GitWorkspaces {
    root: PathBuf,
    data_dir: PathBuf,
    /// Whether other processes of the user cannot inspect this one, or why they can.
    concealed: Result<(), String>,
    programs: OnceLock<Result<Arc<Programs>, String>>,
    environment: ChildEnvironment,
    settings: SandboxSettings,
    logins: Logins,
    /// The proxy of the service's own network.
    upstream: Arc<UpstreamProxy>,
    opening: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Sizes of workspaces without a user, with their time of last use.
    sizes: Mutex<HashMap<String, (SystemTime, u64)>>,
}

/// A workspace that exists, or was evicted.
struct FoundWorkspace {
    meta: Meta,
    tree: Option<(OwnedFd, InUse)>,
}

impl GitWorkspaces {
    /// Makes a provider for workspaces in the data directory.
    /// Its path is absolute; it is created when needed.
    ///
    /// From here on other processes of this user cannot inspect the process: commands of agents are such processes.
    /// Where the kernel refuses this, no command runs.
    pub fn new(data_dir: &Path, environment: ChildEnvironment, settings: SandboxSettings) -> Self {
        let concealed = conceal_this_process();
        let root = data_dir.join(WORKSPACES);
        let (programs, opening) = (OnceLock::new(), Mutex::default());
        let (sizes, logins, upstream) = (Mutex::default(), Logins::default(), Arc::default());
        Self {
            data_dir: data_dir.into(),
            root,
            concealed,
            programs,
            environment,
            settings,
            logins,
            upstream,
            opening,
            sizes,
        }
    }

    /// Moves the workspaces to another folder, which is absolute and created when needed.
    /// Their metadata stays in the data directory.
    #[must_use]
    pub fn in_folder(mut self, root: PathBuf) -> Self {
        self.root = root;
        self
    }

    /// Adds the logins of code hosts. Clones use them, and the proxies of commands.
    #[must_use]
    pub fn with_logins(mut self, logins: Logins) -> Self {
        self.logins = logins;
        self
    }

    /// Adds the proxy of the service's own network, for its git and for the proxies of commands.
    #[must_use]
    pub fn with_upstream(mut self, upstream: Arc<UpstreamProxy>) -> Self {
        self.upstream = upstream;
        self
    }

    /// Returns the programs of workspaces, or why there can be none. The first call tries the sandbox out.
    pub(super) fn programs(&self) -> Result<&Arc<Programs>, &str> {
        let find = || {
            self.concealed.clone()?;
            let variables = self.environment.variables();
            let home = self.environment.service_home();
            let hidden = [&*self.data_dir, &*self.root];
            let folders = Folders::select(variables, &self.settings.readable, &hidden, home);
            let stage = self.data_dir.join(STAGE);
            let sandbox = || choose(&self.settings, &folders, &stage);
            Programs::find(
                self.environment.clone(),
                Arc::clone(&self.upstream),
                sandbox,
            )
            .map(Arc::new)
        };
        self.programs
            .get_or_init(find)
            .as_ref()
            .map_err(String::as_str)
    }

    /// Returns the confinement of commands, or why there is none and how to mend it.
    /// The first call tries it out.
    pub fn confinement(&self) -> Result<Confinement, String> {
        let programs = self.programs()?;
        let sandbox = &programs.sandbox;
        Ok(Confinement {
            kind: sandbox.kind(),
            network: sandbox.network(),
            gaps: sandbox.gaps(),
            skipped: sandbox.skipped(),
            cgroup: sandbox.cgroup(),
            no_cgroup: sandbox.no_cgroup().map(ToOwned::to_owned),
        })
    }

    /// Returns whether the lists of the proxy name an agent. They hold in local trees only.
    pub(crate) fn names_agent(&self, agent: &str) -> bool {
        self.settings.egress.names_agent(agent)
    }

    /// Returns the parts from which commands of other trees are confined in the same way.
    pub(crate) fn commands(&self) -> Result<Commands, String> {
        let programs = self.programs()?;
        Ok(Commands {
            sandbox: Arc::clone(&programs.sandbox),
            gate: programs.gate(),
            egress: self.settings.egress.clone(),
            logins: self.logins.clone(),
            upstream: Arc::clone(&self.upstream),
            variables: self.environment.variables().to_vec(),
        })
    }

    /// Tries the way of commands to their proxy. Does nothing if they have none.
    ///
    /// # Errors
    /// Returns why commands have no network.
    pub async fn try_proxy(&self) -> Result<(), String> {
        let programs = self.programs()?;
        match programs.gate() {
            Some(kind) => trial::try_proxy(programs, kind).await,
            None => Ok(()),
        }
    }

    /// Returns the place of a thread's tree.
    pub fn tree_of(&self, thread: &ThreadKey) -> PathBuf {
        self.root.join(folder_name(thread)).join("tree")
    }

    /// Returns the folder of all workspaces.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the data directory.
    pub(super) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Returns the code host that mints tokens for git.
    pub(super) fn code_host(&self) -> Option<&Arc<dyn CodeHost>> {
        self.logins.code_host()
    }

    /// Returns the size of a workspace that was not used since it was measured.
    pub(super) fn known_size(&self, name: &str, used_at: SystemTime) -> Option<u64> {
        let sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes
            .get(name)
            .filter(|(at, _)| *at == used_at)
            .map(|(_, bytes)| *bytes)
    }

    /// Notes the size of a workspace, or that it is not known.
    pub(super) fn note_size(&self, name: &str, measured: Option<(SystemTime, u64)>) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        match measured {
            Some(measured) => drop(sizes.insert(name.to_owned(), measured)),
            None => drop(sizes.remove(name)),
        }
    }

    /// Returns the lock of a thread, so that two clones never race for one place.
    pub(super) fn lock_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        // Unused locks are removed, so the map is as small as the number of concurrent openings.
        opening.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(opening.entry(name.to_owned()).or_default())
    }

    /// Makes the workspace beside its place, renames it and stores its metadata.
    async fn make(
        &self,
        root: &Path,
        name: &str,
        git: (&Programs, &CancellationToken),
        request: WorkspaceRequest<'_>,
    ) -> Result<Meta, WorkspaceError> {
        let making = making::folder_in(root.to_path_buf()).await?;
        let (programs, cancel) = git;
        let git = Git {
            programs,
            place: making.path(),
            cancel,
            group: None,
        };
        let made = making::fill(&git, self.logins.code_host(), request).await;
        let (root, data, name) = (root.to_path_buf(), self.data_dir.clone(), name.to_owned());
        blocking(move || {
            let meta = made?;
            set_aside(&root, &name).map_err(|error| infra(&error))?;
            std::fs::rename(making.path(), root.join(&name)).map_err(|error| infra(&error))?;
            // Removing the rest of a failed clone may take long, so it happens here.
            drop(making);
            meta.write(&data, &name)?;
            Ok(meta)
        })
        .await
    }

    /// Opens the tree of a workspace, if both are there.
    async fn find(&self, name: &str) -> Result<Option<FoundWorkspace>, WorkspaceError> {
        let (data, root, name) = (self.data_dir.clone(), self.root.clone(), name.to_owned());
        blocking(move || {
            let Some(meta) = Meta::read(&data, &name)? else {
                return Ok(None);
            };
            let tree = open_tree(&root, &name).map_err(|error| infra(&error))?;
            // A workspace that was removed as a whole can be made anew.
            let place = root.join(&name);
            let is_there = tree.is_some()
                || meta.evicted
                || meta.checkpoint.is_some()
                || place.symlink_metadata().is_ok();
            Ok(is_there.then_some(FoundWorkspace { meta, tree }))
        })
        .await
    }
}

#[async_trait]
impl WorkspaceProvider for GitWorkspaces {
    fn sandbox(&self) -> Option<CommandSandbox> {
        let Confinement {
            kind,
            network,
            skipped,
            cgroup,
            ..
        } = self.confinement().ok()?;
        Some(CommandSandbox {
            kind,
            network,
            skipped,
            cgroup,
        })
    }

    async fn repository_of(
        &self,
        thread: &ThreadKey,
    ) -> Result<Option<Repository>, WorkspaceError> {
        let found = self.find(&folder_name(thread)).await?;
        Ok(found.and_then(|FoundWorkspace { meta, .. }| {
            Some(Repository {
                name: meta.repository?,
                origin: meta.origin?,
            })
        }))
    }

    async fn restore(
        &self,
        thread: &ThreadKey,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        self.restore_run(thread, run, cancel).await
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        self.open_with_note(request, None, cancel).await
    }
}

impl GitWorkspaces {
    /// Opens a tree that was just made.
    async fn made(&self, name: &str) -> Result<(Meta, (OwnedFd, InUse)), WorkspaceError> {
        match self.find(name).await? {
            Some(FoundWorkspace {
                meta,
                tree: Some(tree),
            }) => Ok((meta, tree)),
            _ => Err(WorkspaceError::Infra(TREE_GONE.into())),
        }
    }

    fn egress(&self, agent: Option<&str>, meta: &Meta) -> Arc<RunEgress> {
        let (repository, origin) = (meta.repository.as_deref(), meta.origin.as_deref());
        let scope = Scope {
            agent,
            repository,
            origin,
        };
        RunEgress::new(&self.settings.egress, scope, &self.logins, &self.upstream)
    }

    /// Returns whether the thread has a tree here, or had one that was evicted.
    pub(crate) async fn has(&self, thread: &ThreadKey) -> Result<bool, WorkspaceError> {
        self.find(&folder_name(thread))
            .await
            .map(|found| found.is_some())
    }
}

/// Moves whatever is in the place of a new workspace out of its way.
/// It may hold unsaved work, so it is kept.
pub(super) fn set_aside(root: &Path, name: &str) -> io::Result<()> {
    let place = root.join(name);
    if place.symlink_metadata().is_err() {
        return Ok(());
    }
    // A name that is free; the folder is replaced by the rename, or removed if the place is no folder.
    let kept = tempfile::Builder::new()
        .prefix(&format!("{SET_ASIDE}{name}-"))
        .tempdir_in(root)?
        .keep();
    std::fs::remove_dir(&kept)?;
    std::fs::rename(&place, &kept)?;
    tracing::warn!(workspace = name, kept = %kept.display(), "a workspace without a usable tree was set aside");
    Ok(())
}

/// Returns the root without links, which a sandbox does not follow. It is created when needed.
pub(super) fn canonical(root: &Path) -> Result<PathBuf, WorkspaceError> {
    std::fs::create_dir_all(root)
        .and_then(|()| root.canonicalize())
        .map_err(|error| infra(&error))
}

fn folder_name(thread: &ThreadKey) -> String {
    folder_name_of(thread.as_str())
}

/// Returns the name of the folder of a thread, by its key.
pub(super) fn folder_name_of(thread: &str) -> String {
    let digest = Sha256::digest(thread.as_bytes());
    hex::encode(digest)[..DIGEST_CHARS].to_owned()
}
