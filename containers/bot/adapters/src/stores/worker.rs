//! The state Worker's HTTP routes as a transport.
//!
//! Redirects are not followed, because the bearer belongs to a single host.

use std::time::Duration;

use ars_auth::Secret;
use ars_bot_ports::{StoreError, trace};
use ars_wire::state::Route;
use async_trait::async_trait;
use reqwest::{
    Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};

use super::{
    client::{Client, Proposal},
    failure::{chain, malformed, permanent, transient},
    transport::{StoreResponse, Transport},
};

/// Request timeout, from the first byte sent to the last byte read.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a memory request, which delays a run's start.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(5);
/// Keep-alive for an idle connection without TLS. workerd closes such a connection after 5 s, and a
/// request that meets the close is lost. With TLS there is HTTP/2, and the server reports requests
/// that it did not accept.
const PLAIN_IDLE: Duration = Duration::from_secs(2);
/// Maximum response size in bytes: several times a full page with the largest records.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// The header with the request's span (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

const TOO_LARGE: &str = "the answer is too large";

/// The stores behind the state Worker.
pub type WorkerStores = Client<Worker>;

impl WorkerStores {
    /// Makes a client for the Worker at `base_url`, such as `https://state.example`.
    pub fn connect(
        base_url: &str,
        token: &Secret,
        proposal: Option<Proposal>,
    ) -> Result<Self, StoreError> {
        Self::over(Worker::at(base_url, token)?, proposal)
    }
}

/// Sends requests over HTTP.
pub struct Worker {
    client: reqwest::Client,
    base_url: String,
    bearer: HeaderValue,
}

impl Worker {
    /// Makes a transport to the Worker at `base_url` with this bearer.
    pub fn at(base_url: &str, token: &Secret) -> Result<Self, StoreError> {
        let mut builder = reqwest::Client::builder().redirect(redirect::Policy::none());
        if !base_url.starts_with("https:") {
            builder = builder.pool_idle_timeout(PLAIN_IDLE);
        }
        let client = builder
            .build()
            .map_err(|error| permanent(format!("HTTP client: {}", chain(&error))))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut bearer =
            bearer.map_err(|_| permanent("the state token cannot be sent in a header"))?;
        bearer.set_sensitive(true);
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self {
            client,
            base_url,
            bearer,
        })
    }

    /// Removes the bearer from an answer: a server may echo headers, and rejections are logged.
    fn without_bearer(&self, text: String) -> String {
        let bearer = self
            .bearer
            .to_str()
            .ok()
            .and_then(|header| header.strip_prefix("Bearer "));
        match bearer.filter(|bearer| text.contains(bearer)) {
            Some(bearer) => text.replace(bearer, "[bearer]"),
            None => text,
        }
    }
}

#[async_trait]
impl Transport for Worker {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        let mut request = self
            .client
            .post(format!("{}{}", self.base_url, route.path()))
            .timeout(timeout(route))
            .header(AUTHORIZATION, self.bearer.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        // The Worker is ours, and no redirect is followed, so no other host learns our traces.
        if let Some(traceparent) = trace::traceparent() {
            request = request.header(TRACEPARENT, traceparent);
        }
        let response = request.send().await.map_err(network)?;
        let status = response.status().as_u16();
        // An interrupted body invalidates the response, whatever the status.
        let text = read(response).await?;
        Ok(StoreResponse {
            status,
            text: if status == 200 {
                text
            } else {
                self.without_bearer(text)
            },
        })
    }
}

const fn timeout(route: Route) -> Duration {
    match route {
        Route::Memory(_) => MEMORY_TIMEOUT,
        Route::Friction(_)
        | Route::Schedules(_)
        | Route::Runs(_)
        | Route::Transcript(_)
        | Route::Config(_) => TIMEOUT,
    }
}

async fn read(mut response: Response) -> Result<String, StoreError> {
    if response
        .content_length()
        .is_some_and(|length| length > MAX_ANSWER as u64)
    {
        return Err(permanent(TOO_LARGE));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(network)? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(permanent(TOO_LARGE));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| malformed("not UTF-8"))
}

/// Converts an HTTP client failure: invalid requests are permanent, all others transient.
fn network(error: reqwest::Error) -> StoreError {
    let error = error.without_url();
    if error.is_builder() {
        permanent(chain(&error))
    } else {
        transient(chain(&error))
    }
}
