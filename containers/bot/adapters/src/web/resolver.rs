//! Name lookups for connections, which connect only to the addresses checked here.
//!
//! Not here: literal addresses in URLs, which need no lookup (`target`).

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::timeout;

use super::address::is_public;
use crate::{error::Unresolvable, upstream::UpstreamProxy};

/// Timeout for looking up a name that a proxy resolves as well. There may be no name server.
const PROXIED_LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Resolves host names.
#[async_trait]
pub(crate) trait Lookup: Send + Sync {
    /// Returns a name's addresses.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver, hosts file included.
pub(crate) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0))
            .await?
            .map(|found| found.ip())
            .collect())
    }
}

/// Decides which addresses may be connected to: the public addresses.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Private addresses for test servers. Only tests set it; no configuration does.
    exempt: Vec<IpAddr>,
}

impl Guard {
    /// Returns whether the address may be connected to.
    pub(super) fn admits(&self, address: IpAddr) -> bool {
        is_public(address) || self.exempt.contains(&address)
    }

    /// Makes a guard that admits a test's own server.
    #[cfg(test)]
    pub(super) fn exempting(address: IpAddr) -> Self {
        Self {
            exempt: vec![address],
        }
    }
}

/// Returns a name's addresses, all admitted. The caller connects to these and to no others.
pub(crate) async fn checked_addresses(
    lookup: &dyn Lookup,
    name: &str,
    admits: impl Fn(IpAddr) -> bool,
) -> Result<Vec<IpAddr>, Unresolvable> {
    let found = lookup
        .lookup(name)
        .await
        .map_err(|_| Unresolvable::Unknown)?;
    if found.is_empty() {
        return Err(Unresolvable::Unknown);
    }
    if !found.iter().all(|address| admits(*address)) {
        return Err(Unresolvable::Forbidden);
    }
    Ok(found)
}

/// Returns whether a proxy may resolve a name: every address that it has here is admitted.
///
/// Behind a proxy public names often have no address here. The proxy then resolves them, and its
/// own rules guard the places they lead to.
pub(crate) async fn may_be_proxied(
    lookup: &dyn Lookup,
    name: &str,
    admits: impl Fn(IpAddr) -> bool,
) -> bool {
    match timeout(PROXIED_LOOKUP_TIMEOUT, lookup.lookup(name)).await {
        Ok(Ok(found)) => found.iter().all(|address| admits(*address)),
        Ok(Err(_)) | Err(_) => true,
    }
}

/// Resolves names of the service's proxies, which the operator chose, and no others.
pub(super) struct ProxyResolver {
    pub(super) upstream: Arc<UpstreamProxy>,
}

impl Resolve for ProxyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_known = self.upstream.is_proxy(name.as_str());
        Box::pin(async move {
            if !is_known {
                return Err(Unresolvable::Forbidden.into());
            }
            let found = SystemLookup.lookup(name.as_str()).await?;
            let addresses: Addrs =
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// The HTTP client's resolver.
pub(super) struct GuardedResolver {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) guard: Guard,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, guard) = (Arc::clone(&self.lookup), self.guard.clone());
        Box::pin(async move {
            let found =
                checked_addresses(&*lookup, name.as_str(), |address| guard.admits(address)).await?;
            // Port 0 stands for the URL's.
            let addresses: Addrs =
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
