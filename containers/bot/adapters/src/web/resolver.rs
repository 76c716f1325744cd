//! Name lookups for connections, which connect only to the addresses checked here.
//!
//! Not here: literal addresses in URLs, which need no lookup (`target`).

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;
use crate::error::Unresolvable;

/// Resolves names.
#[async_trait]
pub(super) trait Lookup: Send + Sync {
    /// Returns a name's addresses.
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver, hosts file included.
pub(super) struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// Decides which addresses may be connected to: the public ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Private addresses of test servers. Only tests set it; no configuration does.
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
        Self { exempt: vec![address] }
    }
}

/// The resolver of the HTTP client.
pub(super) struct GuardedResolver {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) guard: Guard,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, guard) = (Arc::clone(&self.lookup), self.guard.clone());
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await.map_err(|_| Unresolvable::Unknown)?;
            if found.is_empty() {
                return Err(Unresolvable::Unknown.into());
            }
            if !found.iter().all(|address| guard.admits(*address)) {
                return Err(Unresolvable::Forbidden.into());
            }
            // Port 0 stands for the URL's.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
