//! Open connections: how many there are, and which is closed for a new connection.
//!
//! At the limit the connection closes that has waited longest for a request head. Connections that
//! never finish a request therefore exclude no caller. A connection with a request in flight is
//! never closed.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::http::{HeaderMap, HeaderName};
use tokio_util::sync::CancellationToken;

use super::{
    excess::Excess,
    peer::Peer,
    quota::{Permit, Quota},
};

/// Maximum open connections overall.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;
/// Maximum open connections per peer; behind a trusted proxy, maximum requests in flight.
pub(crate) const CONNECTIONS_PER_PEER_MAX: usize = 64;

/// Limits on open connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Maximum open connections overall.
    pub max: usize,
    /// Maximum open connections per peer.
    pub max_per_peer: usize,
    /// The header in which a trusted proxy states a request's peer. With it every connection is the
    /// proxy's, and a peer's requests in flight are limited instead.
    pub peer_header: Option<HeaderName>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max: CONNECTIONS_MAX,
            max_per_peer: CONNECTIONS_PER_PEER_MAX,
            peer_header: None,
        }
    }
}

/// Connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    open: Arc<Quota>,
    requests: Arc<Quota>,
    peer_header: Option<HeaderName>,
    idle: Mutex<Idle>,
}

/// The connections without a request in flight, in the order in which they began to wait.
#[derive(Debug, Default)]
struct Idle {
    next: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        let ConnectionLimits {
            max,
            max_per_peer,
            peer_header,
        } = limits;
        Arc::new(Self {
            open: Arc::new(Quota::new(max, max_per_peer)),
            requests: Arc::new(Quota::new(usize::MAX, max_per_peer)),
            peer_header,
            idle: Mutex::default(),
        })
    }

    /// Admits a connection, possibly in place of another.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Arc<Connection>, Excess> {
        let peer = self.peer_header.is_none().then(|| Peer::at(address));
        let permit = match self.open.admit(peer) {
            Err(Excess::All) if self.close_oldest() => self.open.replace(peer),
            admitted => admitted?,
        };
        let connection = Connection {
            all: Arc::clone(self),
            closed: CancellationToken::new(),
            place: Mutex::default(),
            _permit: permit,
        };
        connection.wait();
        Ok(Arc::new(connection))
    }

    /// Closes the connection that has waited longest. Returns `false` if each has a request in flight.
    fn close_oldest(&self) -> bool {
        let oldest = self.idle().waiting.pop_first();
        oldest.is_some_and(|(_, closed)| {
            closed.cancel();
            true
        })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    /// Fires when another connection replaces this connection.
    pub(super) closed: CancellationToken,
    place: Mutex<Option<u64>>,
    _permit: Permit,
}

impl Connection {
    /// Begins a request. The connection is not idle until the answer drops the result.
    pub(super) fn begin(
        self: &Arc<Self>,
        headers: &HeaderMap,
        address: SocketAddr,
    ) -> Result<InFlight, Excess> {
        let stated = self.all.peer_header.as_ref();
        let peer = stated.map(|name| Peer::stated(headers, Some(name), || address.ip()));
        let permit = self.all.requests.admit(peer)?;
        self.leave();
        Ok(InFlight {
            connection: Arc::clone(self),
            _permit: permit,
        })
    }

    fn wait(&self) {
        let mut idle = self.all.idle();
        idle.next += 1;
        let place = idle.next;
        idle.waiting.insert(place, self.closed.clone());
        *self.place() = Some(place);
    }

    fn leave(&self) {
        let mut idle = self.all.idle();
        if let Some(place) = self.place().take() {
            idle.waiting.remove(&place);
        }
    }

    fn place(&self) -> MutexGuard<'_, Option<u64>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A request in flight, until the response is sent.
#[derive(Debug)]
pub(super) struct InFlight {
    connection: Arc<Connection>,
    _permit: Permit,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(max: usize, peer_header: Option<HeaderName>) -> Arc<Connections> {
        Connections::new(ConnectionLimits {
            max,
            max_per_peer: 2,
            peer_header,
        })
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    fn begin(connection: &Arc<Connection>) -> InFlight {
        connection
            .begin(&HeaderMap::new(), SocketAddr::from(([10, 0, 0, 1], 1)))
            .unwrap()
    }

    #[test]
    fn longest_idle_connection_gives_way() {
        let all = connections(2, None);
        let first = all.admit(address(1)).unwrap();
        let second = all.admit(address(2)).unwrap();
        // It waits anew since the response.
        drop(begin(&first));
        let third = all.admit(address(3)).unwrap();
        assert!(second.closed.is_cancelled() && !first.closed.is_cancelled());
        drop(second);
        let _busy = (begin(&first), begin(&third));
        assert_eq!(all.admit(address(4)).unwrap_err(), Excess::All);
    }

    #[test]
    fn stated_peers_share_the_connections_of_a_proxy() {
        let name = HeaderName::from_static("x-peer");
        let all = connections(9, Some(name.clone()));
        let links: Vec<_> = (0..4).map(|_| all.admit(address(1)).unwrap()).collect();
        let ask = |at: usize, peer: &str| {
            let headers = HeaderMap::from_iter([(name.clone(), peer.parse().unwrap())]);
            links[at].begin(&headers, SocketAddr::from(([10, 0, 0, 1], 1)))
        };
        let _greedy = (ask(0, "192.0.2.1").unwrap(), ask(1, "192.0.2.1").unwrap());
        assert_eq!(ask(2, "192.0.2.1").unwrap_err(), Excess::Peer);
        assert!(ask(3, "192.0.2.2").is_ok());
    }
}
