//! Fetches an access proxy's public keys over HTTP.
//!
//! The operator names the proxy, so the address is not guarded.

use std::{sync::Arc, time::Duration};

use ars_auth::access::Proxy;
use ars_bot_ports::{Certificates, WebError};
use async_trait::async_trait;
use reqwest::Client;

use super::{body, client, failure::failure};
use crate::{error::WebSetupError, upstream::UpstreamProxy};

/// Timeout for fetching the keys.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest key set; two keys with their certificates have some 6 kB.
const KEYS_MAX_BYTES: usize = 1 << 18;

/// The keys for a single team at an access proxy.
pub struct TeamCertificates {
    client: Client,
    url: String,
}

impl TeamCertificates {
    /// Returns the source for an access proxy, behind the service's proxy.
    pub fn new(proxy: &Proxy, upstream: &Arc<UpstreamProxy>) -> Result<Self, WebSetupError> {
        Self::at(proxy.certificates(), upstream)
    }

    pub(super) fn at(url: String, upstream: &Arc<UpstreamProxy>) -> Result<Self, WebSetupError> {
        let builder = client::with_proxy(client::client(), upstream).timeout(KEYS_TIMEOUT);
        let client = client::built(builder)?;
        Ok(Self { client, url })
    }
}

#[async_trait]
impl Certificates for TeamCertificates {
    async fn fetch(&self) -> Result<String, WebError> {
        let mut response = self
            .client
            .get(&self.url)
            .send()
            .await
            .map_err(|error| failure(&error))?;
        if !response.status().is_success() {
            return Err(WebError::Keys(response.status().as_u16()));
        }
        let read = body::read(&mut response, KEYS_MAX_BYTES).await?;
        if read.more {
            return Err(WebError::TooLarge(KEYS_MAX_BYTES));
        }
        String::from_utf8(read.bytes).map_err(|_| WebError::Encoding)
    }
}
