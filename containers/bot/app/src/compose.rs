//! The composition root: connects the core with its models, stores and workspaces.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use ars_auth::{Secret, TokenMap, dashboard::by_loopback};
use ars_bot_adapters::{
    logins::{Logins, secrets_of},
    models::{Catalog, Endpoint, ProviderConfig, REHEARSAL_MODEL, Transport, default_model},
    residents::LocalTransport,
    sandbox::SandboxSettings,
    web::WebPolicy,
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_core::{
    Capabilities, Core, Deps, LedgerDeps, commands::CommandDeps, live::LiveStores,
    settings::Settings,
};
use ars_bot_http::{Dashboard, Webhooks};
use ars_bot_ports::{CodeHost, Documents, WorkspaceProvider};
use ars_events::Redactor;
use ars_types::ModelRef;
use ars_wire::admin::EDGE_SECRET;

use crate::{
    args::{Data, Purpose, Setup, Store},
    capabilities,
    clock::SystemClock,
    code_host::CodeHostConfig,
    commands::Failure,
    config::{self, ExecutionKind, File, Reach},
    environment::{self, name},
    generation, listed_model,
    recorded_channels::RecordedChannels,
    residents::{self, InstalledResidents, ResidentsConfig},
    stores::{Kept, Place, Stores, require_private},
    tree_folder::TreeFolderLock,
};

/// Everything a command needs before anything is opened.
pub struct Plan {
    /// The configuration file.
    pub file: File,
    /// The core's settings.
    pub settings: Settings,
    /// Removes every configured secret from output.
    pub redactor: Arc<Redactor>,
    /// The command serves requests until a signal.
    /// Its runs are recorded in the ledger if there is one, and their repositories get residents.
    pub serves: bool,
    /// The ingress tokens of a command that serves requests.
    pub tokens: Option<Arc<TokenMap>>,
    /// Whether all entries of their variable are readable, so that one without an entry was removed.
    pub are_tokens_known: bool,
    /// What to do for a default model, if there is none.
    pub model_hint: Option<String>,
    /// The providers of models.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The directory of runs and working trees.
    pub data_dir: PathBuf,
    /// The configured folder of working trees; that of the data directory if absent.
    pub tree_folder: Option<PathBuf>,
    sandbox: SandboxSettings,
    web: WebPolicy,
    store_token: Option<Secret>,
    memory_token: Option<Secret>,
    schedules_token: Option<Secret>,
    search_key: Option<Secret>,
    /// The secret of the edge that started this process.
    pub edge_secret: Option<Secret>,
    /// The code host, if one is configured.
    pub code_host: Option<CodeHostConfig>,
    /// The residents.
    residents: ResidentsConfig,
    /// The gate of the run pages.
    pub dashboard: Dashboard,
}

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
    /// Webhooks of the code host, if they are on.
    pub webhooks: Option<Webhooks>,
    /// The stores are the state Worker's, which other processes reach too.
    pub are_stores_shared: bool,
}

/// Reads configuration and environment. Opens and writes nothing.
pub async fn plan(
    setup: Setup,
    tokens: &TokenMap,
    state_url: Option<&str>,
) -> Result<Plan, Failure> {
    let invalid = |error| invalid_configuration(setup.config.as_deref(), &error);
    let file = match &setup.config {
        Some(path) => file(path, state_url).await?,
        None => File::default(),
    };
    let is_for_commands = setup.purpose == Purpose::Commands;
    let found = config::providers(&file.providers, setup.rehearsal, environment::variable);
    let providers = if is_for_commands {
        found.unwrap_or_default()
    } else {
        found.map_err(invalid)?
    };
    let of_the_flag = setup.model.is_some();
    let model = setup
        .model
        .or_else(|| file.defaults.model.clone())
        .or_else(|| default_model(&providers));
    let (model, model_hint) = listed_model::or_only(model, &providers, setup.purpose).await;
    if let Some(model) = model.as_ref().filter(|_| !is_for_commands) {
        known_provider(model, &providers)?;
    }
    let mut settings = file.settings(model, public_base_url()?).map_err(invalid)?;
    if of_the_flag {
        settings.models.clear();
    }
    let others = settings
        .models
        .values()
        .chain(&settings.fallback_model)
        .chain(&file.memory.model);
    for model in others.filter(|_| !is_for_commands) {
        known_provider(model, &providers)?;
    }
    let sandbox = file.sandbox.settings().map_err(invalid)?;
    let web = file.web.policy(&file.sandbox).map_err(invalid)?;
    let data_dir = data_dir(setup.data)?;
    let tree_folder = tree_folder(&file, setup.config.as_deref(), &data_dir)?;
    let [store_token, memory_token, schedules_token] = [
        &file.run_history.worker,
        &file.memory.worker,
        &file.schedules.worker,
    ]
    .map(|worker| bearer_of(worker.as_ref()));
    let keys = providers
        .values()
        .filter_map(|provider| provider.api_key.as_ref());
    let search_key = Secret::parse(environment::variable(name::BRAVE_SEARCH_API_KEY));
    let code_host = CodeHostConfig::read(environment::variable);
    let code_host = code_host.map_err(|error| Failure::InvalidInput(error.to_string()))?;
    let residents = match setup.purpose {
        Purpose::Requests => ResidentsConfig::read(&file.execution.resident)?,
        Purpose::Commands => {
            ResidentsConfig::read(&file.execution.resident).unwrap_or(ResidentsConfig::Off)
        }
    };
    let is_public = by_loopback(
        Ipv4Addr::LOCALHOST.into(),
        settings.public_base_url.as_deref(),
    )
    .is_err();
    let dashboard = match setup.purpose {
        Purpose::Requests => file
            .dashboard
            .gate(environment::variable, is_public)
            .map_err(invalid)?,
        Purpose::Commands => Dashboard::default(),
    };
    let dashboard_token = match &dashboard {
        Dashboard::Token { secret, .. } => Some(secret.clone()),
        Dashboard::Loopback | Dashboard::Access(_) => None,
    };
    let edge_secret = Secret::parse(environment::variable(EDGE_SECRET));
    let own = [
        &edge_secret,
        &store_token,
        &memory_token,
        &schedules_token,
        &search_key,
        &dashboard_token,
    ];
    let of_code_host = code_host.iter().flat_map(CodeHostConfig::secrets);
    let secrets = keys
        .chain(tokens.secrets())
        .chain(own.into_iter().flatten())
        .chain(of_code_host);
    let of_residents = residents.secrets();
    let secrets = secrets
        .chain(&of_residents)
        .map(|secret| secret.expose().to_owned());
    let telemetry = ars_bot_telemetry::secrets(environment::variable);
    let origins = settings
        .repositories
        .iter()
        .map(|repository| &repository.origin);
    let in_origins = origins
        .chain(&settings.allowed_origins)
        .flat_map(|origin| secrets_of(origin));
    let redactor = Arc::new(Redactor::new(secrets.chain(telemetry).chain(in_origins)));
    Ok(Plan {
        file,
        settings,
        redactor,
        serves: false,
        tokens: None,
        are_tokens_known: true,
        model_hint,
        providers,
        data_dir,
        tree_folder,
        sandbox,
        web,
        store_token,
        memory_token,
        schedules_token,
        search_key,
        edge_secret,
        code_host,
        residents,
        dashboard,
    })
}

/// Returns the failure of a configuration, with its file.
fn invalid_configuration(path: Option<&Path>, error: &config::ConfigError) -> Failure {
    let file = path.map_or_else(String::new, |path| format!(" {}", path.display()));
    Failure::InvalidInput(format!("configuration{file}: {error}"))
}

/// Returns the names of configured repositories with a path as origin where nothing is.
pub fn missing_origins(settings: &Settings) -> impl Iterator<Item = &str> {
    let is_missing = |origin: &str| origin.starts_with('/') && !Path::new(origin).exists();
    let missing = settings
        .repositories
        .iter()
        .filter(move |repository| is_missing(&repository.origin));
    missing.map(|repository| repository.name.as_str())
}

/// Returns the workspaces of a configuration and a data directory, without the rest of the set-up.
pub async fn configured_workspaces(
    data: Data,
    config: Option<&Path>,
    state_url: Option<&str>,
) -> Result<GitWorkspaces, Failure> {
    let data_dir = data_dir(data)?;
    let Some(path) = config else {
        return Ok(workspaces(&data_dir, SandboxSettings::default()));
    };
    let file = file(path, state_url).await?;
    let sandbox = file
        .sandbox
        .settings()
        .map_err(|error| invalid_configuration(config, &error))?;
    let tree_folder = tree_folder(&file, config, &data_dir)?;
    Ok(in_folder(
        workspaces(&data_dir, sandbox),
        tree_folder,
        file.execution.kind,
    ))
}

/// Returns the configured folder of working trees.
fn tree_folder(
    file: &File,
    config: Option<&Path>,
    data_dir: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let of_a_file = config.filter(|path| config::remote_key(path).is_none());
    let beside = of_a_file.and_then(config::folder_of);
    file.tree_folder(beside.as_deref(), data_dir)
        .map_err(|error| invalid_configuration(config, &error))
}

/// Reads the configuration from a file or from the state Worker.
async fn file(path: &Path, state_url: Option<&str>) -> Result<File, Failure> {
    let Some(key) = config::remote_key(path) else {
        return config::load(path).map_err(|error| match error {
            config::ConfigError::Unreadable(source) => {
                Failure::InvalidInput(format!("configuration {}: {source}", path.display()))
            }
            error => invalid_configuration(Some(path), &error),
        });
    };
    let missing =
        |what: &str| Failure::InvalidInput(format!("configuration: state:// needs {what}"));
    let url = state_url.ok_or_else(|| missing("STATE_WORKER_URL or --state-url"))?;
    require_private(url)?;
    // The document may name another variable for the stores' bearer, but not for reading itself.
    let token = Secret::parse(environment::variable(name::MEMORY_TOKEN));
    let token = token.ok_or_else(|| missing(name::MEMORY_TOKEN))?;
    let file = config::load_remote(key, url, &token)
        .await
        .map_err(|error| match error {
            config::RemoteError::Content(error) => invalid_configuration(Some(path), &error),
            config::RemoteError::Store(source) => {
                Failure::Unavailable(anyhow!("configuration: {source}"))
            }
            error => Failure::InvalidInput(format!("configuration: {error}")),
        })?;
    let hosts = environment::variable(name::CONFIG_HOSTS);
    let sandbox = environment::variable(name::CONFIG_SANDBOX);
    let (hosts, sandbox) = (hosts.as_deref(), sandbox.as_deref());
    let reach = Reach {
        state_url: url,
        hosts,
        sandbox,
        variable: &environment::variable,
    };
    reach
        .check(&file)
        .map_err(|error| invalid_configuration(Some(path), &error))?;
    Ok(file)
}

/// Returns the model that `--rehearsal` adds.
pub fn rehearsal_model() -> Option<ModelRef> {
    ModelRef::parse(&format!("{}/{REHEARSAL_MODEL}", config::REHEARSAL)).ok()
}

/// Returns the directory of runs and working trees, as an absolute path.
pub fn data_dir(data: Data) -> Result<PathBuf, Failure> {
    let dir = data
        .dir
        .or_else(environment::user_data_dir)
        .ok_or_else(|| {
            Failure::InvalidInput(
                "there is no home directory: name a data directory with --data-dir".into(),
            )
        })?;
    std::path::absolute(&dir)
        .context("the data directory")
        .map_err(Failure::Unavailable)
}

/// Returns the bearer of a state Worker.
fn bearer_of(worker: Option<&config::Worker>) -> Option<Secret> {
    let token_env = worker.and_then(|worker| worker.token_env.as_deref());
    Secret::parse(environment::variable(
        token_env.unwrap_or(name::MEMORY_TOKEN),
    ))
}

fn public_base_url() -> Result<Option<String>, Failure> {
    let Some(url) = environment::variable(name::PUBLIC_BASE_URL) else {
        return Ok(None);
    };
    match Endpoint::parse(&url) {
        Ok(_) => Ok(Some(url.trim().to_owned())),
        Err(problem) => Err(Failure::InvalidInput(format!(
            "{} {problem}",
            name::PUBLIC_BASE_URL
        ))),
    }
}

fn known_provider(
    model: &ModelRef,
    providers: &BTreeMap<String, ProviderConfig>,
) -> Result<(), Failure> {
    if providers.contains_key(model.provider()) {
        return Ok(());
    }
    let known: Vec<_> = providers.keys().map(String::as_str).collect();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Err(Failure::InvalidInput(format!(
        "the model's provider is not configured (configured: {known}). Set ANTHROPIC_API_KEY or OPENAI_API_KEY, \
         or describe it under [providers]"
    )))
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

    /// Returns the webhooks of the code host, if they are on.
    fn webhooks(
        &self,
        host: Option<&Arc<dyn CodeHost>>,
        documents: &Arc<dyn Documents>,
    ) -> Result<Option<Webhooks>, Failure> {
        let users = self
            .file
            .webhook
            .users()
            .map_err(|error| invalid_configuration(None, &error))?;
        let secret = self
            .code_host
            .as_ref()
            .and_then(|config| config.webhook_secret.clone());
        Ok(secret.zip(host).map(|(secret, host)| Webhooks {
            secret,
            users,
            checks: self.file.webhook.checks.clone(),
            host: Arc::clone(host),
            documents: Arc::clone(documents),
        }))
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
        // The keep-alive of a deployment is one as well, so that its list exists there.
        let are_stores_shared = stores.are_shared;
        let has_schedules = are_stores_shared
            || self.file.schedules.worker.is_some()
            || self.file.fires_schedules(self.code_host.is_some());
        let code_host = capabilities::code_host(self.code_host.as_ref())?;
        let origins = self
            .settings
            .repositories
            .iter()
            .map(|repository| repository.origin.as_str());
        let logins = Logins::new(origins, code_host.clone());
        let workspaces = Arc::new(self.workspaces().with_logins(logins));
        let webhooks = self.webhooks(code_host.as_ref(), &stores.documents)?;
        let residents = self.connect_residents(are_stores_shared, &workspaces)?;
        let catalog = Catalog::new(self.providers, Transport::default())
            .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
        let pages = self.settings.public_base_url.clone();
        let channels = RecordedChannels {
            code_host: code_host.clone(),
            pages,
        };
        let trees: Arc<dyn WorkspaceProvider> = match &residents {
            Some(residents) => residents.workspaces.clone(),
            None => workspaces.clone(),
        };
        let deps = Deps {
            clock: Arc::new(SystemClock),
            models: Arc::new(catalog),
            workspaces: Arc::clone(&trees),
            store: stores.runs,
            capabilities: Capabilities {
                ledger: keeps_ledger
                    .then(|| {
                        ledger(
                            stores.live,
                            are_stores_shared,
                            self.are_tokens_known,
                            channels,
                        )
                    })
                    .transpose()?,
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
            webhooks,
            are_stores_shared,
        })
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

fn ledger(
    stores: LiveStores,
    has_successor: bool,
    reclaims: bool,
    channels: RecordedChannels,
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

/// Moves workspaces to the configured folder, if there is one.
fn in_folder(
    workspaces: GitWorkspaces,
    folder: Option<PathBuf>,
    kind: ExecutionKind,
) -> GitWorkspaces {
    match (kind, folder) {
        (ExecutionKind::Local, Some(folder)) => workspaces.in_folder(folder),
        (ExecutionKind::Local, None) => workspaces,
    }
}

/// Returns the workspaces of a data directory.
pub fn workspaces(data_dir: &Path, sandbox: SandboxSettings) -> GitWorkspaces {
    // Without its own path the service finds no proxy, and says so when it chooses the sandbox.
    let entry = sandbox.entry.or_else(|| std::env::current_exe().ok());
    let sandbox = SandboxSettings { entry, ..sandbox };
    GitWorkspaces::new(
        data_dir,
        ChildEnvironment::from_service(environment::raw),
        sandbox,
    )
    .with_upstream(environment::upstream())
}
