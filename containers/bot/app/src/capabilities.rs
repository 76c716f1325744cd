//! The optional capabilities (web, memory, overrides, skills), prepared before anything is served.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use ars_auth::Secret;
use ars_bot_adapters::{
    skills,
    web::{BraveSearch, PublicWeb, WebPolicy},
};
use ars_bot_core::{LoadError, memory::MemoryDeps, overrides::Overrides};
use ars_bot_ports::{CodeHost, Documents, Memory, Skills, Web};

use crate::{
    code_host::CodeHostConfig,
    commands::Failure,
    config,
    environment::{self, name},
};

/// Timeout for reading the overrides at the start.
const OVERRIDES_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the web client, with search when a key is configured.
pub fn web(search_key: Option<&Secret>, policy: WebPolicy) -> Result<Arc<dyn Web>, Failure> {
    let base_url = environment::variable(name::BRAVE_SEARCH_BASE_URL);
    let search = search_key
        .map(|key| BraveSearch::new(key, base_url.as_deref()))
        .transpose();
    let web = search
        .and_then(PublicWeb::new)
        .context("the web tools")
        .map_err(Failure::Unavailable)?;
    let web = web
        .through(environment::upstream())
        .context("the web tools")
        .map_err(Failure::Unavailable)?;
    Ok(Arc::new(web.with_policy(policy)))
}

/// Returns the code host, if configured. No request is sent yet.
pub fn code_host(config: Option<&CodeHostConfig>) -> Result<Option<Arc<dyn CodeHost>>, Failure> {
    config
        .map(CodeHostConfig::open)
        .transpose()
        .map_err(|error| Failure::Unavailable(anyhow!(error)))
}

/// Returns memory, if it is enabled.
pub fn memory(
    settings: &config::Memory,
    organization: Option<String>,
    store: Arc<dyn Memory>,
) -> Result<Option<MemoryDeps>, Failure> {
    if !settings.enabled {
        return Ok(None);
    }
    // Without the name, shared facts would be dropped silently.
    if organization
        .as_ref()
        .is_none_or(|name| name.trim().is_empty())
    {
        let problem = "configuration: organization must name the owner of shared memory, because memory is enabled";
        return Err(Failure::InvalidInput(problem.to_owned()));
    }
    let budget = settings
        .budget()
        .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
    Ok(Some(MemoryDeps {
        store,
        organization,
        budget,
        model: settings.model.clone(),
    }))
}

/// Loads the configuration overrides. An unavailable store does not prevent the start; the
/// overrides are loaded later.
pub async fn overrides(documents: Arc<dyn Documents>) -> Result<Overrides, Failure> {
    let overrides = Overrides::new(documents);
    match overrides.refresh(OVERRIDES_TIMEOUT).await {
        Ok(()) => {}
        Err(error @ LoadError::Malformed(_)) => return Err(Failure::Unavailable(anyhow!(error))),
        Err(error @ (LoadError::Timeout | LoadError::Store(_))) => {
            let reason = format!("{:#}", anyhow!(error));
            tracing::error!(
                reason,
                "runtime overrides are not in force yet: the store did not give them"
            );
        }
    }
    Ok(overrides)
}

/// Returns the skills in the configured folder, if any.
pub fn skills() -> Result<Option<Arc<dyn Skills>>, Failure> {
    let Some(folder) = environment::variable(name::SKILLS_DIR) else {
        return Ok(None);
    };
    match skills::load(Path::new(&folder)) {
        Ok(skills) => Ok(Some(Arc::new(skills))),
        Err(error) => Err(Failure::Unavailable(
            anyhow!(error).context(name::SKILLS_DIR),
        )),
    }
}
