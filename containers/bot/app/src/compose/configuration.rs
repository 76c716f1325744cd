//! Reads the configuration that composition starts from: the file, its folders, the public address.
//!
//! Not here: the keys of the file (`crate::config`).

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use ars_auth::Secret;
use ars_bot_adapters::models::{Endpoint, REHEARSAL_MODEL};
use ars_types::ModelRef;

use crate::{
    args::Data,
    commands::Failure,
    config::{self, File, Reach},
    environment::{self, name},
    stores::require_private,
};

/// Reads the configuration from a file or from the state Worker.
pub(super) async fn file(path: &Path, state_url: Option<&str>) -> Result<File, Failure> {
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

/// Returns the configured folder of working trees.
pub(super) fn tree_folder(
    file: &File,
    config: Option<&Path>,
    data_dir: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let of_a_file = config.filter(|path| config::remote_key(path).is_none());
    let beside = of_a_file.and_then(config::folder_of);
    file.tree_folder(beside.as_deref(), data_dir)
        .map_err(|error| invalid_configuration(config, &error))
}

pub(super) fn public_base_url() -> Result<Option<String>, Failure> {
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

/// Returns the failure of a configuration, with its file.
pub(super) fn invalid_configuration(path: Option<&Path>, error: &config::ConfigError) -> Failure {
    let file = path.map_or_else(String::new, |path| format!(" {}", path.display()));
    Failure::InvalidInput(format!("configuration{file}: {error}"))
}

/// Returns the model that `--rehearsal` adds.
pub fn rehearsal_model() -> Option<ModelRef> {
    ModelRef::parse(&format!("{}/{REHEARSAL_MODEL}", config::REHEARSAL)).ok()
}
