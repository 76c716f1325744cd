//! Chooses between a direct connection and the service's proxy, for each URL in a fetch.
//!
//! Not here: how the clients are made (`client`), and the requests (`fetch`).

use std::sync::Arc;

use ars_bot_ports::WebError;
use reqwest::{Client, Url};

use super::resolver::{Guard, Lookup, may_be_proxied};
use crate::upstream::UpstreamProxy;

/// Page clients: for direct connections, and through the service's proxy.
pub(super) struct Pages {
    direct: Client,
    proxied: Option<Client>,
    upstream: Arc<UpstreamProxy>,
    lookup: Arc<dyn Lookup>,
    pub(super) guard: Guard,
}

impl Pages {
    /// Returns the clients for a machine without a proxy.
    pub(super) fn new(direct: Client, lookup: Arc<dyn Lookup>, guard: Guard) -> Self {
        Self {
            direct,
            proxied: None,
            upstream: Arc::default(),
            lookup,
            guard,
        }
    }

    /// Uses a client for the destinations that have a proxy.
    pub(super) fn put_behind(&mut self, proxied: Client, upstream: Arc<UpstreamProxy>) {
        self.proxied = Some(proxied);
        self.upstream = upstream;
    }

    /// Returns the client for a checked URL.
    ///
    /// # Errors
    /// The proxy would resolve the host, which has an address here that is not admitted.
    pub(super) async fn client_for(&self, url: &Url) -> Result<&Client, WebError> {
        let proxied = self
            .proxied
            .as_ref()
            .filter(|_| self.upstream.address_of(url).is_some());
        let Some(proxied) = proxied else {
            return Ok(&self.direct);
        };
        let admits = |address| self.guard.admits(address);
        match url.domain() {
            Some(name) if !may_be_proxied(&*self.lookup, name, admits).await => {
                Err(WebError::Forbidden)
            }
            _ => Ok(proxied),
        }
    }
}
