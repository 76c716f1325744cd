//! `[providers.<name>]`: model vendors, in addition to those in the environment.

use std::{collections::BTreeMap, path::PathBuf};

use ars_auth::Secret;
use ars_bot_adapters::models::{
    Endpoint, ProviderConfig, ProviderKind, ScriptSource, providers_from_env,
};
use serde::Deserialize;

use super::ConfigError;

/// A provider's settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Provider {
    /// The provider's protocol.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Variable that holds the provider's key.
    #[serde(default, alias = "api_key_env")]
    pub api_key_env: Option<String>,
    /// The provider's base URL.
    #[serde(default, alias = "base_url")]
    pub base_url: Option<String>,
    /// A rehearsal's script.
    #[serde(default)]
    pub script: Option<PathBuf>,
    /// The script's text in place of a file.
    #[serde(default, alias = "script_text")]
    pub script_text: Option<String>,
}

/// A provider's protocol.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The Anthropic Messages API.
    Anthropic,
    /// Speaks Chat Completions.
    OpenaiCompatible,
    /// Follows a script.
    Rehearsal,
}

impl Kind {
    /// Returns the name of the vendor's provider in the environment.
    fn conventional_name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiCompatible => "openai",
            Self::Rehearsal => REHEARSAL,
        }
    }

    /// Returns the vendor's key variable in the environment.
    pub(super) fn conventional_key(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenaiCompatible => "OPENAI_API_KEY",
            // A script needs no key.
            Self::Rehearsal => "",
        }
    }
}

impl Provider {
    /// Completes the entry from the vendor's conventional variables, unless it has an address.
    /// The vendor's key is never sent to another host.
    fn configured(
        &self,
        name: &str,
        conventional: &BTreeMap<String, ProviderConfig>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ProviderConfig, ConfigError> {
        let invalid = |key: &str, problem: &str| {
            ConfigError::invalid(format!("providers.{name}.{key}"), problem)
        };
        let conventional = match &self.base_url {
            None => conventional.get(self.kind.conventional_name()),
            Some(url) => {
                Endpoint::parse(url).map_err(|problem| invalid("baseUrl", &problem.to_string()))?;
                None
            }
        };
        let api_key = match &self.api_key_env {
            None => conventional.and_then(|vendor| vendor.api_key.clone()),
            Some(key) => {
                let unset = || {
                    invalid(
                        "apiKeyEnv",
                        "names a variable that is not set in the environment",
                    )
                };
                Some(Secret::parse(variable(key)).ok_or_else(unset)?)
            }
        };
        let base_url = self
            .base_url
            .clone()
            .or_else(|| conventional.and_then(|vendor| vendor.base_url.clone()));
        let kind = match self.kind {
            Kind::Anthropic => ProviderKind::Anthropic,
            Kind::OpenaiCompatible => ProviderKind::OpenAiCompatible,
            Kind::Rehearsal => ProviderKind::Rehearsal,
        };
        let script = match (&self.script, &self.script_text) {
            (Some(_), Some(_)) => return Err(invalid("scriptText", "does not go with `script`")),
            (Some(path), None) => Some(ScriptSource::File(path.clone())),
            (None, text) => text.clone().map(ScriptSource::Text),
        };
        Ok(ProviderConfig {
            kind,
            api_key,
            base_url,
            script,
        })
    }
}

/// Name for the rehearsal that `--rehearsal` adds.
pub const REHEARSAL: &str = "rehearsal";

/// Returns providers from environment, file (`entries`) and command line; later ones win.
pub fn configured(
    entries: &BTreeMap<String, Provider>,
    rehearsal: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, ProviderConfig>, ConfigError> {
    let mut providers = providers_from_env(&variable);
    for (name, provider) in entries {
        if name.is_empty() || name.contains(['/', ' ']) {
            return Err(ConfigError::invalid(
                "providers",
                "a provider's name must not hold `/` or blanks",
            ));
        }
        let config = provider.configured(name, &providers_from_env(&variable), &variable)?;
        providers.insert(name.clone(), config);
    }
    if let Some(script) = rehearsal {
        let kind = ProviderKind::Rehearsal;
        let script = Some(ScriptSource::File(script));
        let config = ProviderConfig {
            kind,
            api_key: None,
            base_url: None,
            script,
        };
        providers.insert(REHEARSAL.to_owned(), config);
    }
    Ok(providers)
}
