//! The run store behind the state Worker's HTTP routes.
//!
//! Not here: retries. A redirect is not followed: the bearer belongs to one host.

use std::time::Duration;

use ars_auth::Secret;
use ars_bot_core::ports::{StoreError, StoreErrorKind};
use ars_wire::state::{RunVerb, Verb as _};
use async_trait::async_trait;
use reqwest::{
    Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};
use serde_json::Value;

use super::client::{Client, Exchange, Proposal, by_status, chain, permanent};

/// From the first byte sent to the last one read (document 2 section 8).
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer read at most: a full page of the largest records' items fits several times over.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Characters of a refusal's text kept for the log.
const MAX_REASON_CHARS: usize = 200;

/// The run store behind the state Worker.
pub type WorkerRunStore = Client<Worker>;

impl WorkerRunStore {
    /// A client of the Worker at `base_url`, such as `https://state.example`.
    pub fn connect(base_url: &str, token: &Secret, proposal: Option<Proposal>) -> Result<Self, StoreError> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).build();
        let client = client.map_err(|error| permanent(format!("HTTP client: {}", chain(&error))))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut bearer = bearer.map_err(|_| permanent("the state token cannot be sent in a header"))?;
        bearer.set_sensitive(true);
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self::new(Worker { client, base_url, bearer }, proposal)
    }
}

/// Sends requests over HTTP.
pub struct Worker {
    client: reqwest::Client,
    base_url: String,
    bearer: HeaderValue,
}

#[async_trait]
impl Exchange for Worker {
    async fn exchange(&self, verb: RunVerb, body: String) -> Result<String, StoreError> {
        let request = self
            .client
            .post(format!("{}{}", self.base_url, verb.path()))
            .header(AUTHORIZATION, self.bearer.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status().as_u16();
        // A body that breaks off makes the answer no answer, whatever its status said.
        let text = read(response).await?;
        if status == 200 { Ok(text) } else { Err(by_status(status, &reason(&text))) }
    }
}

async fn read(mut response: Response) -> Result<String, StoreError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| network(&error))? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(permanent("the answer is too large"));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| permanent("malformed answer: not UTF-8"))
}

/// A request that could not be made at all is ours; everything else is the network, and worth another try.
fn network(error: &reqwest::Error) -> StoreError {
    let kind = if error.is_builder() { StoreErrorKind::Permanent } else { StoreErrorKind::Transient };
    StoreError { kind, message: chain(error) }
}

/// The `error` of an error body, for the log; it names a field, never a value.
fn reason(text: &str) -> String {
    let body = serde_json::from_str::<Value>(text).unwrap_or_default();
    let error = body["error"].as_str().unwrap_or("no reason given");
    error.chars().filter(|char| !char.is_control()).take(MAX_REASON_CHARS).collect()
}
