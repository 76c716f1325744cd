//! The model for requests that name none, on a compatible server without a configured model.
//!
//! Not here: the list (`ars_bot_adapters`), and vendors' default models.

use std::collections::BTreeMap;

use ars_bot_adapters::models::{ProviderConfig, ProviderKind, Transport, listed_models};
use ars_types::ModelRef;

use crate::args::Purpose;

/// How to fix an installation without a model.
const SET_A_KEY: &str = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, describe a provider under [providers], or give \
                         --rehearsal";
/// Maximum model names that a text repeats.
const MAX_NAMED: usize = 8;

/// Returns the default model, and without one explains how to set it. A command on stored data
/// needs none.
pub async fn or_only(
    model: Option<ModelRef>,
    providers: &BTreeMap<String, ProviderConfig>,
    purpose: Purpose,
) -> (Option<ModelRef>, Option<String>) {
    if model.is_some() || purpose == Purpose::Commands {
        return (model, None);
    }
    match only_model(providers).await {
        Ok(model) => (Some(model), None),
        Err(hint) => (None, Some(hint)),
    }
}

/// Returns the only server's only model, or how to set a model.
async fn only_model(providers: &BTreeMap<String, ProviderConfig>) -> Result<ModelRef, String> {
    let is_server = |config: &ProviderConfig| {
        config.kind == ProviderKind::OpenAiCompatible && config.base_url.is_some()
    };
    let servers: Vec<_> = providers
        .iter()
        .filter(|(_, config)| is_server(config))
        .collect();
    let (name, config) = match servers[..] {
        [] => return Err(SET_A_KEY.to_owned()),
        [server] => server,
        [(first, _), ..] => {
            return Err(format!(
                "name one with --model, such as --model {first}/NAME, or in defaults.model"
            ));
        }
    };
    let listed = match Transport::default().client() {
        Ok(http) => listed_models(&http, config).await,
        Err(error) => Err(error.to_string()),
    };
    choose(name, listed)
}

fn choose(provider: &str, listed: Result<Vec<String>, String>) -> Result<ModelRef, String> {
    let names = match listed {
        Ok(names) => names,
        Err(reason) => {
            return Err(format!(
                "give --model {provider}/NAME, because its models are not known: {reason}"
            ));
        }
    };
    let models: Vec<ModelRef> = names
        .iter()
        .filter_map(|name| ModelRef::parse(&format!("{provider}/{name}")).ok())
        .collect();
    match &models[..] {
        [] => Err(format!(
            "give --model {provider}/NAME, because the server lists no model"
        )),
        [model] => Ok(model.clone()),
        several => {
            let named: Vec<String> = several
                .iter()
                .take(MAX_NAMED)
                .map(ToString::to_string)
                .collect();
            let more = if several.len() > MAX_NAMED {
                ", …"
            } else {
                ""
            };
            Err(format!(
                "choose one of the server's with --model: {}{more}",
                named.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_model_is_used_and_several_are_named() {
        let chosen = |names: &[&str]| {
            choose(
                "openai",
                Ok(names.iter().map(|name| (*name).into()).collect()),
            )
        };
        assert_eq!(
            chosen(&["llama3"]).map(|model| model.to_string()),
            Ok("openai/llama3".to_owned())
        );
        let several = chosen(&["a/b", "llama3"]).unwrap_err();
        assert!(
            several.ends_with("with --model: openai/a/b, openai/llama3"),
            "{several}"
        );
        assert!(chosen(&[]).unwrap_err().contains("--model openai/NAME"));
        let unknown = choose("mine", Err("h:1 cannot be reached".into())).unwrap_err();
        assert!(
            unknown.contains("--model mine/NAME") && unknown.contains("h:1"),
            "{unknown}"
        );
        let many: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
        assert!(
            choose("openai", Ok(many))
                .unwrap_err()
                .ends_with("openai/m7, …")
        );
    }
}
