//! Searches with Brave's web search API.
//!
//! Not here: whether a search is configured (`client`) and how results are shown (`ars-bot-tools`). Implements
//! bot supplement section 15, `web_search`, and section 27, `BRAVE_SEARCH_API_KEY`.

use ars_auth::Secret;
use ars_bot_ports::{WebError, WebHit};
use reqwest::{
    Client, Url,
    header::{ACCEPT, HeaderName, HeaderValue},
};
use serde::Deserialize;

use super::{
    body,
    client::{SetupError, failure},
};

/// Where Brave serves it.
const BRAVE: &str = "https://api.search.brave.com";
/// The path of a search.
const PATH: &str = "res/v1/web/search";
/// Carries the key.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-subscription-token");
/// Results asked for; the service gives at most 20.
const RESULTS: usize = 10;
/// Most bytes of an answer; ten results take some 50 kB.
const ANSWER_MAX: usize = 1 << 20;

/// The search service and the key to it.
pub struct BraveSearch {
    url: Url,
    key: HeaderValue,
}

impl BraveSearch {
    /// The service with this key, at Brave's own address unless another is given.
    pub fn new(key: &Secret, base_url: Option<&str>) -> Result<Self, SetupError> {
        let base = base_url.unwrap_or(BRAVE).trim_end_matches('/');
        let url = Url::parse(&format!("{base}/{PATH}")).map_err(|_| SetupError::SearchUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(SetupError::SearchUrl);
        }
        let mut key = HeaderValue::from_str(key.expose()).map_err(|_| SetupError::SearchKey)?;
        key.set_sensitive(true);
        Ok(Self { url, key })
    }
}

/// The service's answer, as far as it is used.
#[derive(Deserialize)]
struct Answer {
    /// Absent when nothing was found.
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

/// Asks the service.
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
    // A cut answer is no JSON either.
    let answer: Answer = serde_json::from_slice(&answer.bytes).map_err(|_| WebError::SearchAnswer)?;
    let hits = answer.web.results.into_iter().take(RESULTS);
    Ok(hits.map(|hit| WebHit { title: hit.title, url: hit.url, description: hit.description }).collect())
}
