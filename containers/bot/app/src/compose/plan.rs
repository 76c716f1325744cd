//! The plan of a command: everything it needs, read and checked before anything is opened.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use ars_auth::{ParsedTokens, Secret, TokenMap, dashboard::by_loopback};
use ars_bot_adapters::{
    models::{ProviderConfig, default_model},
    sandbox::SandboxSettings,
    web::WebPolicy,
};
use ars_bot_core::settings::Settings;
use ars_bot_http::Dashboard;
use ars_events::Redactor;
use ars_types::ModelRef;
use ars_wire::admin::EDGE_SECRET;

use super::configuration::{data_dir, file, invalid_configuration, public_base_url, tree_folder};
use crate::{
    args::{Purpose, Setup},
    code_host::CodeHostConfig,
    commands::Failure,
    config::{self, File},
    environment::{self, name},
    listed_model,
    residents::ResidentsConfig,
    surfaces::{self, Sources, Surfaces},
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
    pub(super) sandbox: SandboxSettings,
    pub(super) web: WebPolicy,
    pub(super) store_token: Option<Secret>,
    pub(super) memory_token: Option<Secret>,
    pub(super) schedules_token: Option<Secret>,
    pub(super) search_key: Option<Secret>,
    /// The secret of the edge that started this process.
    pub edge_secret: Option<Secret>,
    /// The code host, if one is configured.
    pub code_host: Option<CodeHostConfig>,
    /// The surfaces, with their settings.
    pub surfaces: Surfaces,
    /// The residents.
    pub(super) residents: ResidentsConfig,
    /// The gate of the run pages.
    pub dashboard: Dashboard,
}

/// Reads configuration and environment. Opens and writes nothing.
pub async fn plan(
    setup: Setup,
    tokens: &ParsedTokens,
    state_url: Option<&str>,
) -> Result<Plan, Failure> {
    let config = setup.config.as_deref();
    let invalid = |error| invalid_configuration(config, &error);
    let file = match config {
        Some(path) => file(path, state_url).await?,
        None => File::default(),
    };
    let models = models(&file, &setup).await?;
    let settings = settings(&file, &models, &setup)?;
    let sandbox = file.sandbox.settings().map_err(invalid)?;
    let web = file.web.policy(&file.sandbox).map_err(invalid)?;
    let data_dir = data_dir(setup.data)?;
    let tree_folder = tree_folder(&file, config, &data_dir)?;
    let code_host = CodeHostConfig::read(environment::variable)
        .map_err(|error| Failure::InvalidInput(error.to_string()))?;
    let surfaces = surfaces::read(Sources {
        file: &file,
        tokens,
        variable: &environment::variable,
    })
    .map_err(invalid)?;
    let residents = match setup.purpose {
        Purpose::Requests => ResidentsConfig::read(&file.execution.resident)?,
        Purpose::Commands => {
            ResidentsConfig::read(&file.execution.resident).unwrap_or(ResidentsConfig::Off)
        }
    };
    let dashboard = match setup.purpose {
        Purpose::Requests => file
            .dashboard
            .gate(environment::variable, is_public(&settings))
            .map_err(invalid)?,
        Purpose::Commands => Dashboard::default(),
    };
    let mut plan = Plan {
        redactor: Arc::new(Redactor::default()),
        serves: false,
        tokens: None,
        are_tokens_known: true,
        store_token: bearer(file.run_history.worker.as_ref()),
        memory_token: bearer(file.memory.worker.as_ref()),
        schedules_token: bearer(file.schedules.worker.as_ref()),
        search_key: Secret::parse(environment::variable(name::BRAVE_SEARCH_API_KEY)),
        edge_secret: Secret::parse(environment::variable(EDGE_SECRET)),
        file,
        settings,
        model_hint: models.hint,
        providers: models.providers,
        data_dir,
        tree_folder,
        sandbox,
        web,
        code_host,
        surfaces,
        residents,
        dashboard,
    };
    plan.redactor = Arc::new(plan.redactor());
    Ok(plan)
}

/// The configured providers, and the model of requests that name none.
struct Models {
    providers: BTreeMap<String, ProviderConfig>,
    default: Option<ModelRef>,
    /// How to get a default model, if there is none.
    hint: Option<String>,
}

async fn models(file: &File, setup: &Setup) -> Result<Models, Failure> {
    let rehearsal = setup.rehearsal.clone();
    let found = config::providers(&file.providers, rehearsal, environment::variable);
    let providers = match setup.purpose {
        Purpose::Requests => {
            found.map_err(|error| invalid_configuration(setup.config.as_deref(), &error))?
        }
        Purpose::Commands => found.unwrap_or_default(),
    };
    let named = setup.model.as_ref().or(file.defaults.model.as_ref());
    let model = named.cloned().or_else(|| default_model(&providers));
    let (default, hint) = listed_model::or_only(model, &providers, setup.purpose).await;
    Ok(Models {
        providers,
        default,
        hint,
    })
}

/// Returns the core's settings. The models in them have a configured provider.
fn settings(file: &File, models: &Models, setup: &Setup) -> Result<Settings, Failure> {
    let is_checked = setup.purpose == Purpose::Requests;
    for model in models.default.iter().filter(|_| is_checked) {
        known_provider(model, &models.providers)?;
    }
    let mut settings = file
        .settings(models.default.clone(), public_base_url()?)
        .map_err(|error| invalid_configuration(setup.config.as_deref(), &error))?;
    if setup.model.is_some() {
        settings.models.clear();
    }
    let others = settings
        .models
        .values()
        .chain(&settings.fallback_model)
        .chain(&file.memory.model);
    for model in others.filter(|_| is_checked) {
        known_provider(model, &models.providers)?;
    }
    Ok(settings)
}

/// Whether clients reach the service from other machines.
fn is_public(settings: &Settings) -> bool {
    let public_url = settings.public_base_url.as_deref();
    by_loopback(Ipv4Addr::LOCALHOST.into(), public_url).is_err()
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

/// Returns the bearer of a state Worker.
fn bearer(worker: Option<&config::Worker>) -> Option<Secret> {
    let token_env = worker.and_then(|worker| worker.token_env.as_deref());
    Secret::parse(environment::variable(
        token_env.unwrap_or(name::MEMORY_TOKEN),
    ))
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
