//! `[providers.<name>]`: model vendors, on top of those the environment describes.

use std::{collections::BTreeMap, path::PathBuf};

use ars_auth::Secret;
use ars_bot_adapters::models::{ProviderConfig, ProviderKind, providers_from_env};
use serde::Deserialize;

use super::{ConfigError, File};

/// One provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// What it speaks.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The variable that holds its key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Its base URL.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The script of a rehearsal.
    #[serde(default)]
    pub script: Option<PathBuf>,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The Anthropic Messages API.
    Anthropic,
    /// Chat Completions.
    OpenaiCompatible,
    /// A script.
    Rehearsal,
}

/// Name of the rehearsal that `--rehearsal` adds.
const REHEARSAL: &str = "rehearsal";

/// The providers of the environment, then of the file, then the rehearsal of the command line; later ones win.
pub fn configured(
    file: &File,
    rehearsal: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, ProviderConfig>, ConfigError> {
    let mut providers = providers_from_env(&variable);
    for (name, provider) in &file.providers {
        if name.is_empty() || name.contains(['/', ' ']) {
            return Err(ConfigError::invalid("providers", "a provider's name must not hold `/` or blanks"));
        }
        let api_key = match &provider.api_key_env {
            None => None,
            Some(variable_name) => Some(Secret::parse(variable(variable_name)).ok_or_else(|| {
                ConfigError::invalid(
                    format!("providers.{name}.api_key_env"),
                    "names a variable that is not set in the environment",
                )
            })?),
        };
        let kind = match provider.kind {
            Kind::Anthropic => ProviderKind::Anthropic,
            Kind::OpenaiCompatible => ProviderKind::OpenAiCompatible,
            Kind::Rehearsal => ProviderKind::Rehearsal,
        };
        let (base_url, script) = (provider.base_url.clone(), provider.script.clone());
        providers.insert(name.clone(), ProviderConfig { kind, api_key, base_url, script });
    }
    if let Some(script) = rehearsal {
        let kind = ProviderKind::Rehearsal;
        let config = ProviderConfig { kind, api_key: None, base_url: None, script: Some(script) };
        providers.insert(REHEARSAL.to_owned(), config);
    }
    Ok(providers)
}
