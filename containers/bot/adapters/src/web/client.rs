//! The adapter: HTTP clients, timeout and cancellation.
//!
//! Not here: the requests (`fetch`, `search`) and converting the library's errors (`failure`).

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{FetchLimits, FetchScope, Fetched, Web, WebError, WebHit};
use async_trait::async_trait;
use reqwest::{Client, ClientBuilder, Proxy, redirect::Policy};
use tokio_util::sync::CancellationToken;

use super::{
    fetch,
    pages::Pages,
    policy::WebPolicy,
    resolver::{Guard, GuardedResolver, Lookup, ProxyResolver, SystemLookup},
    search::{self, BraveSearch},
};
use crate::{error::WebSetupError, upstream::UpstreamProxy};

/// User agent sent with every request.
const USER_AGENT: &str = concat!("ars/", env!("CARGO_PKG_VERSION"));

/// The public web, without cookies. Every request opens a connection, so the address is checked.
pub struct PublicWeb {
    pages: Pages,
    policy: WebPolicy,
    search: Option<(Client, BraveSearch)>,
}

impl PublicWeb {
    /// Makes a client with the system's resolver; searches need a service.
    pub fn new(search: Option<BraveSearch>) -> Result<Self, WebSetupError> {
        Self::guarded(Guard::default(), Arc::new(SystemLookup), search)
    }

    /// Returns the client with these hosts.
    #[must_use]
    pub fn with_policy(mut self, policy: WebPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Returns the client behind the service's proxy. Searches use it too.
    pub fn through(mut self, upstream: Arc<UpstreamProxy>) -> Result<Self, WebSetupError> {
        let clients = built(proxied(&upstream))?;
        if let Some((searches, _)) = &mut self.search {
            *searches = built(with_proxy(client(), &upstream))?;
        }
        self.pages.put_behind(clients, upstream);
        Ok(self)
    }

    /// Makes a client with a given guard and resolver.
    pub(super) fn guarded(
        guard: Guard,
        lookup: Arc<dyn Lookup>,
        search: Option<BraveSearch>,
    ) -> Result<Self, WebSetupError> {
        let resolver = GuardedResolver {
            lookup: Arc::clone(&lookup),
            guard: guard.clone(),
        };
        // The operator chose the search service, so the address is not guarded.
        let search = match search {
            Some(search) => Some((built(client())?, search)),
            None => None,
        };
        let direct = built(client().dns_resolver(Arc::new(resolver)))?;
        Ok(Self {
            pages: Pages::new(direct, lookup, guard),
            policy: WebPolicy::default(),
            search,
        })
    }
}

/// Returns the settings that every client shares.
pub(crate) fn client() -> ClientBuilder {
    // Other crates' Cargo features enable the library's decompression, which would hide the
    // encoding.
    let builder = Client::builder()
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd();
    builder
        .no_proxy()
        .redirect(Policy::none())
        .pool_max_idle_per_host(0)
        .user_agent(USER_AGENT)
}

/// Returns the settings for clients that connect only to the service's proxy.
pub(crate) fn proxied(upstream: &Arc<UpstreamProxy>) -> ClientBuilder {
    let resolver = ProxyResolver {
        upstream: Arc::clone(upstream),
    };
    with_proxy(client(), upstream).dns_resolver(Arc::new(resolver))
}

pub(super) fn with_proxy(builder: ClientBuilder, upstream: &Arc<UpstreamProxy>) -> ClientBuilder {
    let upstream = Arc::clone(upstream);
    builder.proxy(Proxy::custom(move |url| upstream.address_of(url)))
}

/// Builds an HTTP client.
pub(super) fn built(builder: ClientBuilder) -> Result<Client, WebSetupError> {
    builder.build().map_err(|_| WebSetupError::Library)
}

#[async_trait]
impl Web for PublicWeb {
    async fn fetch(
        &self,
        url: &str,
        scope: FetchScope<'_>,
        limits: FetchLimits,
        cancel: &CancellationToken,
    ) -> Result<Fetched, WebError> {
        let reach = self.policy.reach(scope)?;
        bounded(
            fetch::fetch(&self.pages, &reach, url, limits),
            limits.time,
            cancel,
        )
        .await
    }

    async fn search(
        &self,
        query: &str,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Vec<WebHit>, WebError> {
        let (client, service) = self.search.as_ref().ok_or(WebError::NotConfigured)?;
        bounded(search::search(client, service, query), limit, cancel).await
    }
}

/// Waits for a response until the timeout or the cancellation.
async fn bounded<T>(
    answer: impl Future<Output = Result<T, WebError>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<T, WebError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(WebError::Cancelled),
        answer = tokio::time::timeout(limit, answer) => answer.unwrap_or(Err(WebError::TimedOut(limit))),
    }
}
