//! The resident Worker's HTTP routes as a transport.
//!
//! Redirects are not followed, because the bearers belong to a single host.

use std::time::Duration;

use ars_auth::Secret;
use ars_bot_ports::{ResidentsError, trace};
use ars_resident::wire::{Route, Scope};
use async_trait::async_trait;
use reqwest::{
    Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};
use tokio::time::timeout;

use super::transport::{ResidentCall, ResidentResponse, ResidentTransport};
use crate::stores::chain;

/// Maximum response size in bytes.
const ANSWER_MAX_BYTES: usize = 16 << 20;
/// Time without a byte after which a streamed response is lost: four heartbeats.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for connecting to the Worker.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Keep-alive for an idle connection without TLS, see `stores::worker`.
const PLAIN_IDLE: Duration = Duration::from_secs(2);
/// The header with the request's span (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";
/// Replaces a bearer in a text.
const HIDDEN: &str = "[bearer]";

/// Sends requests over HTTP.
pub struct ResidentWorker {
    client: reqwest::Client,
    base_url: String,
    operator: HeaderValue,
    admin: Option<HeaderValue>,
}

impl ResidentWorker {
    /// Makes a transport to the Worker at `base_url`. Without `admin`, administrator routes fail.
    ///
    /// # Errors
    /// A bearer cannot be sent in a header, or the HTTP client cannot be made.
    pub fn at(
        base_url: &str,
        operator: &Secret,
        admin: Option<&Secret>,
    ) -> Result<Self, ResidentsError> {
        let mut builder = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT);
        if !base_url.starts_with("https:") {
            builder = builder.pool_idle_timeout(PLAIN_IDLE);
        }
        let client = builder
            .build()
            .map_err(|error| ResidentsError::Failed(chain(&error)))?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        let (operator, admin) = (bearer(operator)?, admin.map(bearer).transpose()?);
        Ok(Self {
            client,
            base_url,
            operator,
            admin,
        })
    }

    /// Returns a route's bearer. The operators' bearer opens no other route.
    fn bearer(&self, route: Route) -> Result<&HeaderValue, ResidentsError> {
        match route.parts().2 {
            Scope::None | Scope::Operator => Ok(&self.operator),
            Scope::Admin | Scope::Read => self.admin.as_ref().ok_or_else(|| {
                let problem =
                    "the bearer of administrators (execution.resident.adminTokenEnv) is not set";
                ResidentsError::Unreachable(problem.to_owned())
            }),
        }
    }

    /// Removes the bearers from an answer: a server may echo headers, and rejections are shown.
    fn without_bearers(&self, mut text: String) -> String {
        for header in [Some(&self.operator), self.admin.as_ref()]
            .into_iter()
            .flatten()
        {
            let bearer = header
                .to_str()
                .ok()
                .and_then(|header| header.strip_prefix("Bearer "));
            if let Some(bearer) = bearer.filter(|bearer| text.contains(bearer)) {
                text = text.replace(bearer, HIDDEN);
            }
        }
        text
    }
}

fn bearer(token: &Secret) -> Result<HeaderValue, ResidentsError> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| ResidentsError::Failed("the bearer cannot be sent in a header".to_owned()))?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

#[async_trait]
impl ResidentTransport for ResidentWorker {
    async fn send(&self, call: ResidentCall) -> Result<ResidentResponse, ResidentsError> {
        let (path, method, _) = call.route.parts();
        // A resource has no character that a query escapes.
        let query = call
            .resource
            .map(|resource| format!("?resource={resource}"))
            .unwrap_or_default();
        let url = format!("{}{path}{query}", self.base_url);
        let mut request = match method {
            "GET" => self.client.get(url),
            _ => self
                .client
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(call.body),
        };
        request = request
            .timeout(call.timeout)
            .header(AUTHORIZATION, self.bearer(call.route)?.clone());
        if let Some(traceparent) = trace::traceparent() {
            request = request.header(TRACEPARENT, traceparent);
        }
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let stall = if call.route.is_streamed() {
            STALL_TIMEOUT
        } else {
            call.timeout
        };
        let text = read(response, stall).await?;
        Ok(ResidentResponse {
            status,
            text: self.without_bearers(text),
        })
    }
}

async fn read(mut response: Response, stall: Duration) -> Result<String, ResidentsError> {
    let too_large = || ResidentsError::Failed("the answer is too large".to_owned());
    if response
        .content_length()
        .is_some_and(|length| length > ANSWER_MAX_BYTES as u64)
    {
        return Err(too_large());
    }
    let stalled = |_| ResidentsError::Unreachable(format!("no byte of the answer in {stall:?}"));
    let mut bytes = Vec::new();
    while let Some(chunk) = timeout(stall, response.chunk())
        .await
        .map_err(stalled)?
        .map_err(unreachable)?
    {
        if bytes.len() + chunk.len() > ANSWER_MAX_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes)
        .map_err(|_| ResidentsError::Failed("the answer is not UTF-8".to_owned()))
}

fn unreachable(error: reqwest::Error) -> ResidentsError {
    ResidentsError::Unreachable(chain(&error.without_url()))
}
