//! Bounds open connections or streams, in all and per peer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{excess::Excess, peer::Peer};

/// Counts open connections or streams. Each holds a [`Permit`].
#[derive(Debug)]
pub(crate) struct Quota {
    max: usize,
    max_per_peer: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_peer: HashMap<Peer, usize>,
}

impl Quota {
    /// Returns a quota with nothing open.
    pub(crate) fn new(max: usize, max_per_peer: usize) -> Self {
        Self {
            max,
            max_per_peer,
            open: Mutex::default(),
        }
    }

    /// Counts another, if there is room. Without a peer only the whole is bounded.
    pub(crate) fn admit(self: &Arc<Self>, peer: Option<Peer>) -> Result<Permit, Excess> {
        let mut open = self.open();
        if peer.is_some_and(|peer| {
            open.by_peer
                .get(&peer)
                .is_some_and(|count| *count >= self.max_per_peer)
        }) {
            return Err(Excess::Peer);
        }
        if open.all >= self.max {
            return Err(Excess::All);
        }
        Ok(self.count(&mut open, peer))
    }

    /// Counts a connection in place of another, which ends.
    pub(crate) fn replace(self: &Arc<Self>, peer: Option<Peer>) -> Permit {
        self.count(&mut self.open(), peer)
    }

    fn count(self: &Arc<Self>, open: &mut Open, peer: Option<Peer>) -> Permit {
        open.all += 1;
        if let Some(peer) = peer {
            *open.by_peer.entry(peer).or_default() += 1;
        }
        Permit {
            quota: Arc::clone(self),
            peer,
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open connection or stream. It no longer counts once dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    quota: Arc<Quota>,
    peer: Option<Peer>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.quota.open();
        open.all = open.all.saturating_sub(1);
        let Some(peer) = self.peer else { return };
        let Some(count) = open.by_peer.get_mut(&peer) else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            open.by_peer.remove(&peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn peer(number: u32) -> Option<Peer> {
        Some(Peer::at(IpAddr::V4(number.into())))
    }

    #[test]
    fn peers_and_the_whole_are_bounded() {
        let quota = Arc::new(Quota::new(3, 2));
        let first = quota.admit(peer(1)).unwrap();
        let _second = quota.admit(peer(1)).unwrap();
        assert_eq!(quota.admit(peer(1)).unwrap_err(), Excess::Peer);
        let _third = quota.admit(peer(2)).unwrap();
        assert_eq!(quota.admit(peer(3)).unwrap_err(), Excess::All);
        assert_eq!(quota.admit(None).unwrap_err(), Excess::All);
        drop(first);
        let replaced = quota.admit(peer(1)).unwrap();
        assert_eq!(quota.admit(peer(3)).unwrap_err(), Excess::All);
        drop(replaced);
        assert!(quota.admit(None).is_ok());
    }

    #[test]
    fn closed_peers_are_forgotten() {
        let quota = Arc::new(Quota::new(3, 2));
        drop(quota.admit(peer(1)).unwrap());
        assert!(quota.open().by_peer.is_empty());
    }
}
