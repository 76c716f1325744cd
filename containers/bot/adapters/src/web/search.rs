//! Searches with Brave's web search API.
//!
//! Not here: whether search is configured (`client`) and how the model sees results (`ars-bot-tools`).

use ars_auth::Secret;
use ars_bot_ports::{WebError, WebHit};
use reqwest::{
    Client, Url,
    header::{ACCEPT, HeaderName, HeaderValue},
};
use serde::Deserialize;

use super::{body, failure::failure};
use crate::error::WebSetupError;

/// Brave's API address.
const BRAVE: &str = "https://api.search.brave.com";
/// URL path for a search.
const PATH: &str = "res/v1/web/search";
/// The header with the key.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-subscription-token");
/// Results per search; the service returns at most 20.
const RESULTS: usize = 10;
/// Maximum response size in bytes; ten results take some 50 kB.
const ANSWER_MAX: usize = 1 << 20;

/// The search service and the key to it.
pub struct BraveSearch {
    url: Url,
    key: HeaderValue,
}

impl BraveSearch {
    /// Makes the service with this key, at Brave's own address by default.
    pub fn new(key: &Secret, base_url: Option<&str>) -> Result<Self, WebSetupError> {
        let base = base_url.unwrap_or(BRAVE).trim_end_matches('/');
        let url = Url::parse(&format!("{base}/{PATH}")).map_err(|_| WebSetupError::SearchUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebSetupError::SearchUrl);
        }
        let mut key = HeaderValue::from_str(key.expose()).map_err(|_| WebSetupError::SearchKey)?;
        key.set_sensitive(true);
        Ok(Self { url, key })
    }
}

/// The used part of the search service's response.
#[derive(Deserialize)]
struct SearchResponse {
    /// Absent without results.
    #[serde(default)]
    web: Results,
}

#[derive(Default, Deserialize)]
struct Results {
    #[serde(default)]
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    #[serde(default)]
    title: String,
    url: String,
    #[serde(default)]
    description: String,
}

/// Searches the web.
pub(super) async fn search(
    client: &Client,
    service: &BraveSearch,
    query: &str,
) -> Result<Vec<WebHit>, WebError> {
    let mut url = service.url.clone();
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("count", &RESULTS.to_string())
        .append_pair("text_decorations", "false");
    let request = client.get(url).header(KEY_HEADER, service.key.clone());
    let request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
    let mut response = request.send().await.map_err(|error| failure(&error))?;
    if !response.status().is_success() {
        return Err(WebError::Search(response.status().as_u16()));
    }
    let answer = body::read(&mut response, ANSWER_MAX).await?;
    // A cut answer is invalid JSON.
    let answer: SearchResponse =
        serde_json::from_slice(&answer.bytes).map_err(|_| WebError::SearchAnswer)?;
    let hits = answer.web.results.into_iter().take(RESULTS);
    Ok(hits
        .map(|hit| WebHit {
            title: hit.title,
            url: hit.url,
            description: hit.description,
        })
        .collect())
}
