//! The configured providers, by name.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ars_auth::Secret;
use ars_bot_ports::{ModelClient, Models, UnknownProvider};
use ars_types::ModelRef;
use reqwest::Client;

use super::{Anthropic, OpenAi, Rehearsal, Transport, anthropic, openai, transport::Endpoint};
use crate::error::CatalogError;

/// The protocol that a provider uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// The Anthropic Messages API.
    Anthropic,
    /// `OpenAI`'s Chat Completions API, or a server like it.
    OpenAiCompatible,
    /// A script in a file.
    Rehearsal,
}

/// A provider as configured.
#[derive(Clone)]
pub struct ProviderConfig {
    /// The provider's protocol.
    pub kind: ProviderKind,
    /// API key, if the provider needs a key.
    pub api_key: Option<Secret>,
    /// Base URL; the vendor's own when absent. `http` is allowed, for local servers.
    pub base_url: Option<String>,
    /// The script for a rehearsal.
    pub script: Option<ScriptSource>,
}

/// Where a rehearsal's script is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSource {
    /// In a file on disk.
    File(PathBuf),
    /// In the configuration itself, as TOML: a container has no other files.
    Text(String),
}

/// The configured providers. They share an HTTP client and the connections.
pub struct Catalog(BTreeMap<String, Arc<dyn ModelClient>>);

impl Catalog {
    /// Sets up every provider and reads rehearsal scripts. Connects to none.
    pub fn new(
        providers: BTreeMap<String, ProviderConfig>,
        transport: Transport,
    ) -> Result<Self, CatalogError> {
        let http = transport.client().map_err(CatalogError::Http)?;
        let clients = providers.into_iter().map(|(name, config)| {
            let client = client(&name, config, &http, transport)?;
            Ok((name, client))
        });
        Ok(Self(clients.collect::<Result<_, _>>()?))
    }
}

impl Models for Catalog {
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider> {
        self.0
            .get(model.provider())
            .cloned()
            .ok_or_else(|| UnknownProvider {
                known: self
                    .0
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }
}

fn client(
    name: &str,
    config: ProviderConfig,
    http: &Client,
    transport: Transport,
) -> Result<Arc<dyn ModelClient>, CatalogError> {
    let provider = || name.to_owned();
    let endpoint = |default: &str| {
        let base_url = config.base_url.as_deref().unwrap_or(default);
        Endpoint::parse(base_url).map_err(|source| CatalogError::BaseUrl {
            provider: provider(),
            source,
        })
    };
    let refused = |source| CatalogError::Setup {
        provider: provider(),
        source,
    };
    Ok(match config.kind {
        ProviderKind::Anthropic => {
            let endpoint = endpoint(anthropic::DEFAULT_BASE_URL)?;
            let client = Anthropic::new(http.clone(), &endpoint, config.api_key, transport.retry);
            Arc::new(client.map_err(refused)?)
        }
        ProviderKind::OpenAiCompatible => {
            let endpoint = endpoint(openai::DEFAULT_BASE_URL)?;
            let client = OpenAi::new(http.clone(), &endpoint, config.api_key, transport.retry);
            Arc::new(client.map_err(refused)?)
        }
        ProviderKind::Rehearsal => {
            let script = config.script.ok_or_else(|| CatalogError::NoScript {
                provider: provider(),
            })?;
            let rehearsal = match &script {
                ScriptSource::File(path) => Rehearsal::load(path),
                ScriptSource::Text(text) => Rehearsal::parse(text),
            };
            Arc::new(rehearsal.map_err(|source| CatalogError::Script {
                provider: provider(),
                source,
            })?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(
        kind: ProviderKind,
        key: Option<&str>,
        base_url: Option<&str>,
    ) -> BTreeMap<String, ProviderConfig> {
        let api_key = Secret::parse(key.map(str::to_owned));
        let config = ProviderConfig {
            kind,
            api_key,
            base_url: base_url.map(str::to_owned),
            script: None,
        };
        BTreeMap::from([("mine".to_owned(), config)])
    }

    #[test]
    fn unknown_provider_error_lists_the_known() {
        let providers = config(ProviderKind::Anthropic, None, None);
        let catalog = Catalog::new(providers, Transport::default()).unwrap();
        assert!(catalog.client(&ModelRef::parse("mine/x").unwrap()).is_ok());
        let unknown = catalog
            .client(&ModelRef::parse("other/x").unwrap())
            .err()
            .unwrap();
        assert_eq!(unknown.known, "mine");
    }

    #[test]
    fn invalid_provider_error_names_the_field() {
        let cases = [
            (
                config(ProviderKind::Anthropic, None, Some("https://u:sesame@h")),
                "providers.mine.baseUrl must",
            ),
            (
                config(ProviderKind::OpenAiCompatible, None, Some("sesame")),
                "providers.mine.baseUrl must",
            ),
            (
                config(ProviderKind::Anthropic, Some("sesame\n2"), None),
                "providers.mine.apiKey must",
            ),
            (
                config(ProviderKind::OpenAiCompatible, Some("sesame\n2"), None),
                "providers.mine.apiKey must",
            ),
            (
                config(ProviderKind::Rehearsal, None, None),
                "providers.mine.script is missing",
            ),
        ];
        for (providers, words) in cases {
            let message = Catalog::new(providers, Transport::default())
                .err()
                .unwrap()
                .to_string();
            assert!(
                message.starts_with(words) && !message.contains("sesame"),
                "{message}"
            );
        }
    }
}
