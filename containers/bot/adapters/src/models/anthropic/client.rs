//! The Messages API client.

use ars_agent::ModelTurn;
use ars_auth::Secret;
use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelRequest};
use async_trait::async_trait;
use reqwest::{
    Client,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{
    calls::normalise,
    failure,
    retry::{RetryPolicy, with_retries},
    transport::Endpoint,
};
use crate::error::ModelSetupError;

const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
/// The API's default address.
pub(in crate::models) const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// A client for a Messages API.
pub struct Anthropic {
    http: Client,
    url: String,
    host: String,
    key: Option<Secret>,
    headers: HeaderMap,
    retry: RetryPolicy,
}

impl Anthropic {
    /// Makes a client for the API at `endpoint`, with or without a trailing `/v1`. A gateway may
    /// need no key.
    pub fn new(
        http: Client,
        endpoint: &Endpoint,
        key: Option<Secret>,
        retry: RetryPolicy,
    ) -> Result<Self, ModelSetupError> {
        let mut headers =
            HeaderMap::from_iter([(HeaderName::from_static("anthropic-version"), VERSION)]);
        if let Some(key) = &key {
            let mut value =
                HeaderValue::from_str(key.expose()).map_err(|_| ModelSetupError::Key)?;
            value.set_sensitive(true);
            headers.insert("x-api-key", value);
        }
        let base = endpoint.base();
        let url = format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base));
        Ok(Self {
            http,
            url,
            host: endpoint.host(),
            key,
            headers,
            retry,
        })
    }

    async fn attempt(
        &self,
        body: &Value,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
    ) -> Result<ModelTurn, ModelError> {
        let sent = self
            .http
            .post(&self.url)
            .headers(self.headers.clone())
            .json(body)
            .send()
            .await;
        let response = sent.map_err(|error| failure::unreachable(&error, &self.host))?;
        let status = response.status();
        if status.is_success() {
            return super::stream::read(response, &self.host, deltas).await;
        }
        let headers = response.headers().clone();
        let body = super::stream::error_text(response).await;
        Err(failure::scrubbed(
            failure::refused(status, &headers, &body),
            self.key.as_ref(),
        ))
    }
}

#[async_trait]
impl ModelClient for Anthropic {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let body = super::request::encode(&request);
        let mut turn =
            with_retries(&self.retry, deltas, cancel, || self.attempt(&body, deltas)).await?;
        normalise(&mut turn, request.turns, request.tools);
        Ok(turn)
    }
}
