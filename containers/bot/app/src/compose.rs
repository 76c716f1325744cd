//! Putting the parts together: the core with its models, store and workspaces.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use ars_auth::{Secret, TokenMap};
use ars_bot_adapters::{
    models::{Catalog, Endpoint, ProviderConfig, REHEARSAL_MODEL, Transport, default_model},
    stores::{EmbeddedStores, Proposal, WorkerStores},
    workspace::{ChildEnvironment, GitWorkspaces},
};
use ars_bot_core::{
    Core, Deps,
    ports::{Clock as _, RunStore},
    settings::Settings,
};
use ars_events::Redactor;
use ars_types::ModelRef;

use crate::{
    args::{Data, Setup, Store},
    clock::SystemClock,
    commands::Failure,
    config::{self, File, HistoryStore},
    environment::{self, name},
};

/// Everything the commands need, before anything is opened.
pub struct Plan {
    /// The configuration file.
    pub file: File,
    /// The core's settings.
    pub settings: Settings,
    /// Cleans what is shown of every configured secret.
    pub redactor: Arc<Redactor>,
    providers: BTreeMap<String, ProviderConfig>,
    data_dir: PathBuf,
    store_token: Option<Secret>,
}

/// Reads configuration and environment. Fails before anything is opened or written.
pub fn plan(setup: Setup, tokens: &TokenMap) -> Result<Plan, Failure> {
    let invalid = |error: config::ConfigError| Failure::InvalidInput(format!("configuration: {error}"));
    let file = match &setup.config {
        Some(path) => config::load(path).map_err(|error| match error {
            config::ConfigError::Unreadable(source) => {
                Failure::Unavailable(anyhow!("configuration {}: {source}", path.display()))
            }
            error => invalid(error),
        })?,
        None => File::default(),
    };
    let providers = config::providers(&file, setup.rehearsal, environment::variable).map_err(invalid)?;
    let of_the_flag = setup.model.is_some();
    let model = setup.model.or_else(|| file.defaults.model.clone()).or_else(|| default_model(&providers));
    if let Some(model) = &model {
        known_provider(model, &providers)?;
    }
    let mut settings = file.settings(model, public_base_url()?).map_err(invalid)?;
    if of_the_flag {
        settings.models.clear();
    }
    for model in settings.models.values() {
        known_provider(model, &providers)?;
    }
    let token_env = file.run_history.worker.as_ref().and_then(|worker| worker.token_env.as_deref());
    let store_token = Secret::parse(environment::variable(token_env.unwrap_or(name::MEMORY_TOKEN)));
    let keys = providers.values().filter_map(|provider| provider.api_key.as_ref());
    let secrets = keys.chain(tokens.secrets()).chain(store_token.as_ref());
    let redactor = Arc::new(Redactor::new(secrets.map(|secret| secret.expose().to_owned())));
    Ok(Plan { file, settings, redactor, providers, data_dir: data_dir(setup.data)?, store_token })
}

/// The model that `--rehearsal` adds.
pub fn rehearsal_model() -> Option<ModelRef> {
    ModelRef::parse(&format!("{}/{REHEARSAL_MODEL}", config::REHEARSAL)).ok()
}

/// The directory of runs and working trees, as an absolute path.
pub fn data_dir(data: Data) -> Result<PathBuf, Failure> {
    let dir = data.dir.or_else(environment::user_data_dir).ok_or_else(|| {
        Failure::InvalidInput("there is no home directory: name a data directory with --data-dir".into())
    })?;
    std::path::absolute(&dir).context("the data directory").map_err(Failure::Unavailable)
}

fn public_base_url() -> Result<Option<String>, Failure> {
    let Some(url) = environment::variable(name::PUBLIC_BASE_URL) else { return Ok(None) };
    match Endpoint::parse(&url) {
        Ok(_) => Ok(Some(url.trim().to_owned())),
        Err(problem) => Err(Failure::InvalidInput(format!("{} {problem}", name::PUBLIC_BASE_URL))),
    }
}

fn known_provider(model: &ModelRef, providers: &BTreeMap<String, ProviderConfig>) -> Result<(), Failure> {
    if providers.contains_key(model.provider()) {
        return Ok(());
    }
    let known: Vec<_> = providers.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(Failure::InvalidInput(format!(
        "the model's provider is not configured (configured: {known}). Set ANTHROPIC_API_KEY or OPENAI_API_KEY, \
         or describe it under [providers]"
    )))
}

impl Plan {
    /// Whether any model is configured.
    pub fn has_model(&self) -> bool {
        self.settings.default_model.is_some() || !self.settings.models.is_empty()
    }

    /// Opens the parts and joins them.
    pub fn build(
        self,
        store: Option<Store>,
        state_url: Option<String>,
    ) -> Result<(Core, Arc<GitWorkspaces>), Failure> {
        let store = self.open_store(store, state_url)?;
        let catalog = Catalog::new(self.providers, Transport::default())
            .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
        let workspaces = Arc::new(workspaces(&self.data_dir));
        let provider: Arc<GitWorkspaces> = Arc::clone(&workspaces);
        let core = Core::new(Deps {
            clock: Arc::new(SystemClock),
            models: Arc::new(catalog),
            workspaces: provider,
            store,
            redactor: self.redactor,
            settings: self.settings,
        });
        Ok((core, workspaces))
    }

    /// The command line wins over the file; without either, the data directory.
    fn open_store(
        &self,
        wanted: Option<Store>,
        state_url: Option<String>,
    ) -> Result<Arc<dyn RunStore>, Failure> {
        let history = &self.file.run_history;
        let policy =
            history.policy().map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
        let proposal = policy.map(|policy| Proposal { policy, updated_at: SystemClock.now() });
        let to_worker = match wanted {
            Some(Store::Embedded) if state_url.is_some() => {
                let words = "--state-url is the state Worker's: it does not go with --store embedded";
                return Err(Failure::InvalidInput(words.into()));
            }
            Some(store) => store == Store::Worker,
            None => state_url.is_some() || history.store == Some(HistoryStore::Worker),
        };
        if !to_worker {
            let store = EmbeddedStores::open(&self.data_dir, Arc::new(SystemClock), proposal);
            let store = store
                .with_context(|| format!("the data directory {} cannot be used", self.data_dir.display()));
            return Ok(Arc::new(store.map_err(Failure::Unavailable)?));
        }
        let url = state_url
            .or_else(|| history.worker.as_ref().map(|worker| worker.base_url.clone()))
            .ok_or_else(|| {
                Failure::InvalidInput(
                    "the state Worker's address is missing: give --state-url or run_history.worker.base_url"
                        .into(),
                )
            })?;
        if !is_private(&url) {
            return Err(Failure::InvalidInput(
                "the state Worker's address must begin with https:// (http:// only for this machine)".into(),
            ));
        }
        let token = self.store_token.as_ref().ok_or_else(|| {
            Failure::InvalidInput(
                "the state Worker's bearer is missing: set MEMORY_TOKEN (or run_history.worker.token_env)"
                    .into(),
            )
        })?;
        Ok(Arc::new(WorkerStores::connect(&url, token, proposal)?))
    }
}

/// The workspaces of a data directory.
pub fn workspaces(data_dir: &Path) -> GitWorkspaces {
    let environment = ChildEnvironment::from_service(environment::raw);
    GitWorkspaces::new(data_dir.join("workspaces"), environment)
}

/// A bearer may travel to it: encrypted, or within this machine. Judged on the parsed URL, because in
/// `http://127.0.0.1:80@elsewhere` the host is not what it looks like.
fn is_private(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let bare = url.username().is_empty() && url.password().is_none();
    let is_local = match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    };
    bare && (url.scheme() == "https" || (url.scheme() == "http" && is_local))
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_bearer_only_travels_encrypted_or_within_the_machine() {
        for url in ["https://x.example", "http://127.0.0.1:8788", "http://localhost", "http://[::1]:1/"] {
            assert!(is_private(url), "{url}");
        }
        for url in [
            "http://x.example",
            "http://127.0.0.1.example",
            "http://localhost@x.example",
            "http://127.0.0.1:80@x.example",
            "https://u:p@x.example",
            "ftp://127.0.0.1",
            "",
        ] {
            assert!(!is_private(url), "{url}");
        }
    }
}
