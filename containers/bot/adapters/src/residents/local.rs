//! This machine's residents as a transport. They are opened on first use.
//!
//! A single process at a time serves a data directory's residents: it holds a kernel lock on their
//! folder.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use ars_bot_ports::ResidentsError;
use ars_resident::{
    names::Resource,
    refusal::{Refusal, Token},
    registry::RESIDENTS_MAX,
    wire::{ResidentsResponse, Route},
};
use ars_resident_local::{LocalResidents, Settings};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, sync::OnceCell};

use super::{
    confine::SandboxConfine,
    tokens,
    transport::{ResidentCall, ResidentResponse, ResidentTransport},
};
use crate::workspace::{Commands, GitWorkspaces};

/// The residents' folder in a data directory.
pub const RESIDENTS: &str = "residents";
/// The serving process's lock file.
const LOCK: &str = "lock";
/// The registry's file. Without it no repository was onboarded.
const REGISTRY: &str = "registry.sqlite3";
/// Marks the folder of a repository that had a resident, also after the resident was removed.
const ONBOARDED: &str = "onboarded";
/// Status code for a response.
const OK: u16 = 200;
/// The folder's Unix permissions.
const PRIVATE: u32 = 0o700;

/// Returns a resource's repository: its name and git origin.
pub type KnownRepositories =
    Arc<dyn Fn(&Resource) -> Option<ars_bot_ports::Repository> + Send + Sync>;

/// Residents in a data directory.
pub struct LocalTransport {
    folder: PathBuf,
    workspaces: Arc<GitWorkspaces>,
    known: KnownRepositories,
    build: String,
    opened: OnceCell<OpenedResidents>,
}

/// The resource in a request.
#[derive(Deserialize)]
struct NamedResidents {
    resource: Resource,
}

/// The served residents. They end before the lock does.
struct OpenedResidents {
    residents: LocalResidents,
    _lock: File,
}

impl LocalTransport {
    /// Makes the transport. Nothing is opened or created yet.
    ///
    /// Commands are confined in the same way as in `workspaces`.
    pub fn new(
        folder: PathBuf,
        workspaces: Arc<GitWorkspaces>,
        known: KnownRepositories,
        build: String,
    ) -> Self {
        Self {
            folder,
            workspaces,
            known,
            build,
            opened: OnceCell::new(),
        }
    }

    /// Returns whether a repository was ever onboarded here.
    pub fn has_registry(&self) -> bool {
        self.folder.join(REGISTRY).exists()
    }

    /// Returns whether the repository has or had a resident here.
    pub(super) fn had_resident(&self, resource: &Resource) -> bool {
        self.folder.join(resource.slug()).join(ONBOARDED).exists()
    }

    /// Notes that the repository in an answered request has or had a resident.
    async fn note_onboarded(&self, body: String) {
        let Ok(NamedResidents { resource }) = serde_json::from_str(&body) else {
            return;
        };
        let folder = self.folder.join(resource.slug());
        let noted = tokio::task::spawn_blocking(move || {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(&folder)?;
            fs::write(folder.join(ONBOARDED), "")
        });
        if let Ok(Err(error)) = noted.await {
            tracing::warn!(%error, resource = resource.as_str(), "a resident is not noted");
        }
    }

    /// Opens the residents and continues their work, if there are any.
    ///
    /// # Errors
    /// Another process serves them, no command can be confined, or the folder cannot be used.
    pub async fn start(&self) -> Result<(), ResidentsError> {
        if self.has_registry() {
            self.open().await.map(drop)
        } else {
            Ok(())
        }
    }

    async fn open(&self) -> Result<&OpenedResidents, ResidentsError> {
        self.opened.get_or_try_init(|| self.begin()).await
    }

    async fn begin(&self) -> Result<OpenedResidents, ResidentsError> {
        let (folder, workspaces) = (self.folder.clone(), Arc::clone(&self.workspaces));
        let (known, build) = (Arc::clone(&self.known), self.build.clone());
        let runtime = Handle::current();
        let opening = move || {
            let lock = lock(&folder)?;
            let commands = Arc::new(workspaces.commands()?);
            let residents =
                LocalResidents::open(settings(folder, &commands, known, build, runtime));
            let residents = residents.map_err(|error| crate::stores::chain(&error))?;
            Ok(OpenedResidents {
                residents,
                _lock: lock,
            })
        };
        let opened = tokio::task::spawn_blocking(opening).await;
        let opened = opened.unwrap_or_else(|_| Err("opening them broke off".to_owned()));
        opened.map_err(|reason| {
            ResidentsError::Unreachable(format!("residents of this machine: {reason}"))
        })
    }
}

fn settings(
    folder: PathBuf,
    commands: &Arc<Commands>,
    known: KnownRepositories,
    build: String,
    runtime: Handle,
) -> Settings {
    let text = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    let environment = commands.variables.iter().filter_map(text).collect();
    let of_service = commands
        .upstream
        .variables()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let of_service = of_service.collect();
    let tokens = commands
        .logins
        .code_host()
        .map(|host| tokens::from_host(host, Arc::clone(&known), runtime));
    let (commands, of_commands) = (Arc::clone(commands), Arc::clone(&known));
    Settings {
        folder,
        environment,
        of_service,
        build,
        tokens,
        origins: Arc::new(move |resource| known(resource).map(|repository| repository.origin)),
        confine: Arc::new(move |resource| {
            let repository = of_commands(resource);
            let origin = repository.as_ref().map(|known| known.origin.clone());
            let name = repository.map_or_else(|| resource.slug().to_owned(), |known| known.name);
            Arc::new(SandboxConfine::new(Arc::clone(&commands), name, origin))
        }),
    }
}

/// Locks the folder. The kernel releases the lock when this process is killed.
fn lock(folder: &Path) -> Result<File, String> {
    let opened = || -> io::Result<File> {
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(folder)?;
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(LOCK))
    };
    let file = opened().map_err(|error| error.to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err("another process serves the residents of this data directory".to_owned())
        }
        Err(TryLockError::Error(error)) => Err(error.to_string()),
    }
}

#[async_trait]
impl ResidentTransport for LocalTransport {
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
        if self.opened.get().is_none() && !self.has_registry() {
            // Nothing is opened or created for them.
            if asks_for_one(call.route) {
                let refusal = Refusal::new(Token::NotOnboarded, "this machine has no residents");
                return response(refusal.status(), &refusal);
            }
            if call.route == Route::Residents {
                return response(OK, &ResidentsResponse::new(Vec::new(), RESIDENTS_MAX, None));
            }
        }
        let opened = self.open().await?;
        let noted =
            matches!(call.route, Route::Onboard | Route::Offboard).then(|| call.body.clone());
        let reply = opened
            .residents
            .send(call.route, call.resource, call.body)
            .await;
        let ended = || ResidentsError::Unreachable("the thread of the residents ended".to_owned());
        let reply = reply.ok_or_else(ended)?;
        if let Some(body) = noted.filter(|_| (200..300).contains(&reply.status)) {
            self.note_onboarded(body).await;
        }
        Ok(ResidentResponse {
            status: reply.status,
            text: reply.body.to_string(),
        })
    }
}

fn response(status: u16, answer: &impl Serialize) -> Result<ResidentResponse, ResidentsError> {
    let text =
        serde_json::to_string(answer).map_err(|error| ResidentsError::Failed(error.to_string()))?;
    Ok(ResidentResponse { status, text })
}

/// Returns whether a route concerns a resident that must exist.
const fn asks_for_one(route: Route) -> bool {
    match route {
        Route::Health | Route::Onboard | Route::Residents | Route::Debug => false,
        Route::Offboard
        | Route::Reconfigure
        | Route::Rebuild
        | Route::Status
        | Route::Attach
        | Route::Detach
        | Route::Op
        | Route::Exec
        | Route::Read
        | Route::Write
        | Route::Push
        | Route::CheckOut
        | Route::Checkpoint
        | Route::Restore => true,
    }
}
