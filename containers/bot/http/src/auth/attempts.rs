//! Limits failed credentials per peer, so only a guesser waits.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ars_types::UnixMillis;

use crate::server::Peer;

/// A peer's failed attempts in a window after which it is limited.
const FAILED_ATTEMPTS_MAX: u32 = 10;
/// Window length in milliseconds.
const ATTEMPTS_WINDOW_MS: UnixMillis = 60_000;
/// Time since the last right credential for which a peer is not limited.
const PROVEN_MAX_AGE_MS: UnixMillis = 3_600_000;
/// Maximum remembered peers. Beyond that, the peer with the oldest attempt is forgotten.
const PEERS_MAX: usize = 1_024;

/// Attempts that each peer made.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<Peer, Record>>);

#[derive(Default)]
struct Record {
    began_at: UnixMillis,
    failed: u32,
    proven_at: Option<UnixMillis>,
    last_at: UnixMillis,
}

impl Attempts {
    /// Counts an attempt as failed, before the credential is compared. Returns the seconds to wait
    /// if there were too many.
    pub(crate) fn begin(&self, peer: Peer, now: UnixMillis) -> Result<(), UnixMillis> {
        let mut records = self.records();
        if records.len() >= PEERS_MAX && !records.contains_key(&peer) {
            let oldest = records
                .iter()
                .min_by_key(|(_, record)| record.last_at)
                .map(|(peer, _)| *peer);
            oldest.map(|oldest| records.remove(&oldest));
        }
        let record = records.entry(peer).or_default();
        record.last_at = now;
        // A clock that was set back begins a window too.
        if !(0..ATTEMPTS_WINDOW_MS).contains(&now.saturating_sub(record.began_at)) {
            (record.began_at, record.failed) = (now, 0);
        }
        let is_proven = record
            .proven_at
            .is_some_and(|at| (0..PROVEN_MAX_AGE_MS).contains(&now.saturating_sub(at)));
        if record.failed >= FAILED_ATTEMPTS_MAX && !is_proven {
            let left = record
                .began_at
                .saturating_add(ATTEMPTS_WINDOW_MS)
                .saturating_sub(now);
            return Err(left.saturating_add(999).div_euclid(1_000));
        }
        record.failed = record.failed.saturating_add(1);
        Ok(())
    }

    /// Takes back a peer's last count: the attempt succeeded.
    pub(crate) fn succeeded(&self, peer: Peer) {
        if let Some(record) = self.records().get_mut(&peer) {
            record.failed = record.failed.saturating_sub(1);
        }
    }

    /// Takes back the last count and does not limit the peer for a while: it has the credential.
    pub(crate) fn prove(&self, peer: Peer, now: UnixMillis) {
        self.succeeded(peer);
        if let Some(record) = self.records().get_mut(&peer) {
            record.proven_at = Some(now);
        }
    }

    fn records(&self) -> MutexGuard<'_, HashMap<Peer, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const NOW: UnixMillis = 1_760_000_000_000;

    fn peer(number: u32) -> Peer {
        Peer::at(IpAddr::V4(number.into()))
    }

    fn fail(attempts: &Attempts, peer: Peer) {
        for _ in 0..FAILED_ATTEMPTS_MAX {
            assert_eq!(attempts.begin(peer, NOW), Ok(()));
        }
    }

    #[test]
    fn failures_of_a_peer_are_limited() {
        let attempts = Attempts::default();
        fail(&attempts, peer(1));
        assert_eq!(attempts.begin(peer(1), NOW + 59_500), Err(1));
        assert_eq!(attempts.begin(peer(2), NOW + 59_500), Ok(()));
        assert_eq!(attempts.begin(peer(1), NOW + ATTEMPTS_WINDOW_MS), Ok(()));
    }

    #[test]
    fn proven_peer_is_not_limited() {
        let attempts = Attempts::default();
        attempts.begin(peer(1), NOW).unwrap();
        attempts.prove(peer(1), NOW);
        fail(&attempts, peer(1));
        assert_eq!(attempts.begin(peer(1), NOW), Ok(()));
        let later = NOW + PROVEN_MAX_AGE_MS;
        for _ in 0..FAILED_ATTEMPTS_MAX {
            assert_eq!(attempts.begin(peer(1), later), Ok(()));
        }
        assert_eq!(attempts.begin(peer(1), later), Err(60));
    }

    #[test]
    fn successes_are_not_counted() {
        let attempts = Attempts::default();
        for _ in 0..3 * FAILED_ATTEMPTS_MAX {
            assert_eq!(attempts.begin(peer(1), NOW), Ok(()));
            attempts.succeeded(peer(1));
        }
    }

    #[test]
    fn oldest_peer_is_forgotten() {
        let attempts = Attempts::default();
        fail(&attempts, peer(0));
        for number in 1..u32::try_from(PEERS_MAX).unwrap() {
            attempts.begin(peer(number), NOW + 1).unwrap();
        }
        assert!(attempts.begin(peer(0), NOW + 2).is_err());
        attempts.begin(peer(5_000), NOW + 3).unwrap();
        assert_eq!(attempts.records().len(), PEERS_MAX);
        assert!(attempts.begin(peer(0), NOW + 4).is_err());
    }
}
