//! Providers from the vendors' conventional variables, and default models.

use std::collections::BTreeMap;

use ars_auth::Secret;
use ars_types::ModelRef;

use super::{ProviderConfig, ProviderKind};

/// Anthropic's current Sonnet model.
pub const DEFAULT_ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";
/// `OpenAI`'s newest model that accepts tools on Chat Completions while it reasons. Later models
/// need the Responses API.
pub const DEFAULT_OPENAI_MODEL: &str = "gpt-5.4";
/// The only model in a rehearsal.
pub const REHEARSAL_MODEL: &str = "script";

/// Returns the providers `anthropic` and `openai` from the environment. They are described by
/// `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `OPENAI_API_KEY` and `OPENAI_BASE_URL`. For a
/// provider, either variable suffices: a gateway or a local server may need no key.
pub fn providers_from_env(
    variable: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, ProviderConfig> {
    let set = |name: &str| {
        let value = variable(name).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    let vendors = [
        (
            "anthropic",
            ProviderKind::Anthropic,
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
        ),
        (
            "openai",
            ProviderKind::OpenAiCompatible,
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
        ),
    ];
    let mut providers = BTreeMap::new();
    for (name, kind, key, base_url) in vendors {
        let config = ProviderConfig {
            kind,
            api_key: Secret::parse(set(key)),
            base_url: set(base_url),
            script: None,
        };
        if config.api_key.is_some() || config.base_url.is_some() {
            providers.insert(name.to_owned(), config);
        }
    }
    providers
}

/// Returns the default model: from the first provider with a conventional model. A custom
/// compatible server has none, because the models there are unknown.
pub fn default_model(providers: &BTreeMap<String, ProviderConfig>) -> Option<ModelRef> {
    let mut ranked: Vec<(u8, &String, &str)> = Vec::new();
    for (name, config) in providers {
        match config.kind {
            ProviderKind::Anthropic => ranked.push((0, name, DEFAULT_ANTHROPIC_MODEL)),
            ProviderKind::OpenAiCompatible if config.base_url.is_none() => {
                ranked.push((1, name, DEFAULT_OPENAI_MODEL));
            }
            ProviderKind::OpenAiCompatible => {}
            ProviderKind::Rehearsal => ranked.push((2, name, REHEARSAL_MODEL)),
        }
    }
    let (_, provider, model) = ranked.into_iter().min()?;
    ModelRef::parse(&format!("{provider}/{model}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> BTreeMap<String, ProviderConfig> {
        providers_from_env(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn keys_and_base_urls_make_providers() {
        let providers = from(&[
            ("ANTHROPIC_API_KEY", "k\n"),
            ("OPENAI_BASE_URL", "http://localhost:11434/v1/"),
        ]);
        assert_eq!(
            providers["anthropic"].api_key.as_ref().unwrap().expose(),
            "k"
        );
        assert!(providers["openai"].api_key.is_none());
        assert_eq!(
            providers["openai"].base_url.as_deref(),
            Some("http://localhost:11434/v1/")
        );
        assert!(from(&[]).is_empty());
        assert!(from(&[("ANTHROPIC_API_KEY", " "), ("OPENAI_API_KEY", "")]).is_empty());
    }

    #[test]
    fn the_default_model_is_a_vendors_own() {
        let default = |pairs: &[_]| default_model(&from(pairs)).map(|model| model.to_string());
        let (anthropic, openai) = (("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k"));
        assert_eq!(
            default(&[anthropic, openai]).as_deref(),
            Some("anthropic/claude-sonnet-5-5")
        );
        assert_eq!(default(&[openai]).as_deref(), Some("openai/gpt-5.4"));
        assert_eq!(default(&[openai, ("OPENAI_BASE_URL", "http://h")]), None);
    }
}
