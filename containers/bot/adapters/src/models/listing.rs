//! The models that a compatible server lists, for requests that name none.
//!
//! Not here: the choice among them (the composition root).

use std::time::Duration;

use serde::Deserialize;

use super::{ProviderConfig, openai::DEFAULT_BASE_URL, transport::Endpoint};

/// Timeout for the list.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum list size in bytes.
const MAX_LIST_BYTES: usize = 1 << 20;
/// Maximum model name length in characters.
const MAX_NAME_CHARS: usize = 200;

#[derive(Deserialize)]
struct Listing {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// Returns the model names that `GET {base}/models` lists, sorted.
///
/// # Errors
///
/// The text explains why there is no list. It has neither the key nor the body.
pub async fn listed_models(
    http: &reqwest::Client,
    config: &ProviderConfig,
) -> Result<Vec<String>, String> {
    let base = config.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL);
    let endpoint = Endpoint::parse(base).map_err(|error| error.to_string())?;
    let version = if endpoint.is_bare() { "/v1" } else { "" };
    let request = http
        .get(format!("{}{version}/models", endpoint.base()))
        .timeout(LIST_TIMEOUT);
    let request = match &config.api_key {
        Some(key) => request.bearer_auth(key.expose()),
        None => request,
    };
    let unreachable = |_: reqwest::Error| format!("{} cannot be reached", endpoint.host());
    let mut response = request.send().await.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(format!(
            "{} answered {}",
            endpoint.host(),
            response.status()
        ));
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_LIST_BYTES {
            return Err(format!(
                "the list of {} is longer than {MAX_LIST_BYTES} bytes",
                endpoint.host()
            ));
        }
    }
    let listing: Listing = serde_json::from_slice(&body)
        .map_err(|_| format!("{} sent no list of models", endpoint.host()))?;
    let is_name = |name: &String| {
        (1..=MAX_NAME_CHARS).contains(&name.chars().count())
            && !name.chars().any(|c| c.is_whitespace() || c.is_control())
    };
    let mut names: Vec<String> = listing
        .data
        .into_iter()
        .map(|listed| listed.id)
        .filter(is_name)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}
