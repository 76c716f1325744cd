//! Opens the parts of a plan and connects them.

use std::sync::Arc;

use anyhow::Context as _;
use ars_bot_adapters::{
    logins::Logins,
    models::{Catalog, Transport},
    residents::LocalTransport,
    workspace::GitWorkspaces,
};
use ars_bot_core::{Capabilities, Core, Deps, LedgerDeps, commands::CommandDeps, live::LiveStores};
use ars_bot_ports::{Channels, CodeHost, WorkspaceProvider};

use super::{
    Plan,
    workspaces::{in_folder, workspaces},
};
use crate::{
    args::Store,
    capabilities,
    clock::SystemClock,
    commands::Failure,
    generation,
    residents::{self, InstalledResidents, ResidentsConfig},
    stores::{Kept, Place, Stores},
    surfaces::{Connected, Surfaces},
    tree_folder::TreeFolderLock,
};

/// The connected parts.
pub struct Built {
    /// The core.
    pub core: Core,
    /// The workspaces on the local disk.
    pub workspaces: Arc<GitWorkspaces>,
    /// The workspaces of runs, which may be on residents.
    pub trees: Arc<dyn WorkspaceProvider>,
    /// The residents of this machine, if they are used.
    pub local_residents: Option<Arc<LocalTransport>>,
    /// The surfaces, with the parts that they use.
    pub surfaces: Surfaces,
    /// The opened parts that surfaces use.
    pub connected: Connected,
    /// The stores are the state Worker's, which other processes reach too.
    pub are_stores_shared: bool,
}

impl Plan {
    /// Returns whether any model is configured.
    pub fn has_model(&self) -> bool {
        self.settings.default_model.is_some() || !self.settings.models.is_empty()
    }

    /// Returns the workspaces.
    pub fn workspaces(&self) -> GitWorkspaces {
        let workspaces = workspaces(&self.data_dir, self.sandbox.clone());
        in_folder(
            workspaces,
            self.tree_folder.clone(),
            self.file.execution.kind,
        )
    }

    /// Locks the configured folder of working trees. The data directory's own has no lock as a whole.
    pub fn lock_tree_folder(&self) -> Result<Option<TreeFolderLock>, Failure> {
        self.tree_folder
            .as_deref()
            .map(TreeFolderLock::take)
            .transpose()
    }

    /// Opens the stores.
    pub fn stores(
        &self,
        store: Option<Store>,
        state_url: Option<String>,
    ) -> Result<Stores, Failure> {
        let token = self.store_token.as_ref();
        let memory_cap = self.file.memory.records_per_scope();
        let place = Place {
            wanted: store,
            state_url,
            token,
            data_dir: &self.data_dir,
            memory_cap,
        };
        let mut stores = Stores::open(&self.file.run_history, &place)?;
        self.check_spend_cap(stores.kept)?;
        if let Some(worker) = self
            .file
            .memory
            .worker
            .as_ref()
            .filter(|_| self.file.memory.enabled)
        {
            stores.keep_memory_in(worker, self.memory_token.as_ref(), memory_cap)?;
        }
        if let Some(worker) = &self.file.schedules.worker {
            stores.read_schedules_from(worker, self.schedules_token.as_ref())?;
        }
        Ok(stores)
    }

    /// Rejects a cap of the day's costs without the history that counts them.
    pub fn check_spend_cap(&self, kept: Kept) -> Result<(), Failure> {
        if kept == Kept::Nothing && self.settings.money.day.is_some() {
            let problem = "configuration: money.day needs run history: set runHistory.store";
            return Err(Failure::InvalidInput(problem.to_owned()));
        }
        Ok(())
    }

    /// Opens the parts and connects them.
    pub async fn build(
        self,
        store: Option<Store>,
        state_url: Option<String>,
    ) -> Result<Built, Failure> {
        let stores = self.stores(store, state_url)?;
        let keeps_ledger = self.serves && stores.kept == Kept::RecordsAndLedger;
        let are_stores_shared = stores.are_shared;
        let has_schedules = self.has_schedules(are_stores_shared);
        let code_host = capabilities::code_host(self.code_host.as_ref())?;
        let logins = self.logins(code_host.clone());
        let workspaces = Arc::new(self.workspaces().with_logins(logins));
        let residents = self.connect_residents(are_stores_shared, &workspaces)?;
        let catalog = Catalog::new(self.providers, Transport::default())
            .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
        let connected = Connected {
            code_host: code_host.clone(),
            documents: Arc::clone(&stores.documents),
            pages: self.settings.public_base_url.clone(),
        };
        let surfaces = self.surfaces;
        if self.serves {
            surfaces.open(&connected)?;
        }
        let channels = surfaces.clone().into_channels(connected.clone());
        let ledger = keeps_ledger
            .then(|| {
                ledger(
                    stores.live,
                    are_stores_shared,
                    self.are_tokens_known,
                    channels,
                )
            })
            .transpose()?;
        let trees = trees(residents.as_ref(), &workspaces);
        let deps = Deps {
            clock: Arc::new(SystemClock),
            models: Arc::new(catalog),
            workspaces: Arc::clone(&trees),
            store: stores.runs,
            capabilities: Capabilities {
                ledger,
                memory: capabilities::memory(
                    &self.file.memory,
                    self.file.organization.clone(),
                    stores.memory,
                )?,
                claims: Some(Arc::clone(&stores.documents)),
                overrides: Some(capabilities::overrides(stores.documents).await?),
                web: Some(capabilities::web(self.search_key.as_ref(), self.web)?),
                code_host,
                skills: capabilities::skills()?,
                tokens: self.tokens,
                commands: CommandDeps {
                    build: Some(crate::build_stamp::build().clone()),
                    schedules: has_schedules.then_some(stores.schedules),
                    residents: residents
                        .as_ref()
                        .map(|residents| Arc::clone(&residents.port)),
                    ..CommandDeps::default()
                },
            },
            redactor: self.redactor,
            settings: self.settings,
        };
        #[cfg(feature = "kill-points")]
        let deps = crate::kill_points::arm(deps)?;
        let core = Core::new(deps);
        let local_residents = residents.and_then(|residents| residents.local);
        Ok(Built {
            core,
            workspaces,
            trees,
            local_residents,
            surfaces,
            connected,
            are_stores_shared,
        })
    }

    /// Returns the logins at the origins of configured repositories.
    fn logins(&self, code_host: Option<Arc<dyn CodeHost>>) -> Logins {
        let repositories = self.settings.repositories.iter();
        let origins = repositories.map(|repository| repository.origin.as_str());
        Logins::new(origins, code_host)
    }

    /// Whether there is a list of schedules. A deployment has the keep-alive in it.
    fn has_schedules(&self, are_stores_shared: bool) -> bool {
        are_stores_shared
            || self.file.schedules.worker.is_some()
            || self.file.fires_schedules(self.code_host.is_some())
    }

    /// Connects the residents. Those of this machine go with stores of this machine.
    fn connect_residents(
        &self,
        are_shared: bool,
        workspaces: &Arc<GitWorkspaces>,
    ) -> Result<Option<InstalledResidents>, Failure> {
        let config = match &self.residents {
            ResidentsConfig::Local if are_shared => &ResidentsConfig::Off,
            config => config,
        };
        let (settings, repositories) = (&self.file.execution.resident, &self.settings.repositories);
        // A command that ends with its run would leave an onboarding half done.
        let onboards = self.serves && settings.auto != Some(false);
        residents::connect(
            config,
            settings,
            repositories,
            workspaces,
            &self.data_dir,
            onboards,
        )
    }
}

/// Returns the workspaces of runs: those of residents, else those on the local disk.
fn trees(
    residents: Option<&InstalledResidents>,
    local: &Arc<GitWorkspaces>,
) -> Arc<dyn WorkspaceProvider> {
    match residents {
        Some(residents) => residents.workspaces.clone(),
        None => local.clone(),
    }
}

fn ledger(
    stores: LiveStores,
    has_successor: bool,
    reclaims: bool,
    channels: impl Channels + 'static,
) -> Result<LedgerDeps, Failure> {
    let generation = generation::mint()
        .context("a generation")
        .map_err(Failure::Unavailable)?;
    Ok(LedgerDeps {
        stores,
        generation,
        channels: Arc::new(channels),
        has_successor,
        reclaims,
    })
}
