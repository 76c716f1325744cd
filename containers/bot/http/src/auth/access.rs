//! Mode `access`: an access proxy token's signature, and the proxy's keys.
//!
//! Not here: the token's form and claims (`ars_auth::access`) and the request for the keys (the
//! port's adapter).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_auth::{
    Denied,
    access::{Assertion, Identity, Proxy, PublicKey, public_keys},
};
use ars_bot_ports::Certificates;
use ars_types::UnixMillis;
use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use tokio::sync::Mutex;

/// Time for which fetched keys are used.
const KEYS_MAX_AGE_MS: UnixMillis = 3_600_000;
/// Shortest time between two fetches because of an unknown key or a failed fetch.
/// Every caller can cause them with an invented name.
const REFETCH_INTERVAL_MS: UnixMillis = 10_000;

/// The keys by name, and when they were fetched.
#[derive(Default)]
struct Keys {
    by_id: BTreeMap<String, PublicKey>,
    fetched_at: Option<UnixMillis>,
}

impl Keys {
    fn are_current(&self, now: UnixMillis) -> bool {
        self.fetched_at
            .is_some_and(|at| (0..KEYS_MAX_AGE_MS).contains(&now.saturating_sub(at)))
    }
}

/// Checks an access proxy's tokens.
pub struct Access {
    proxy: Proxy,
    certificates: Arc<dyn Certificates>,
    keys: RwLock<Keys>,
    /// When the last fetch that counts for the interval was made. The lock serializes fetches.
    refetched_at: Mutex<Option<UnixMillis>>,
    fetches: AtomicU64,
}

impl Access {
    /// Returns the check for a proxy. The keys are fetched when the first token arrives.
    pub fn new(proxy: Proxy, certificates: Arc<dyn Certificates>) -> Self {
        Self {
            proxy,
            certificates,
            keys: RwLock::default(),
            refetched_at: Mutex::new(None),
            fetches: AtomicU64::new(0),
        }
    }

    /// Returns the identity in a token with a valid signature and valid claims.
    pub(crate) async fn identify(&self, token: &str, now: UnixMillis) -> Result<Identity, Denied> {
        let assertion = Assertion::parse(token)?;
        // Claims first: another application's token causes no key fetch.
        let identity = assertion.identity(&self.proxy, now)?;
        let key = self.key(&assertion.key_id, now).await?;
        let key = RsaPublicKeyComponents {
            n: &key.modulus,
            e: &key.exponent,
        };
        key.verify(
            &RSA_PKCS1_2048_8192_SHA256,
            assertion.signed,
            &assertion.signature,
        )
        .map_err(|_| Denied::BadCredential)?;
        Ok(identity)
    }

    /// Returns a key. An unknown name and expired keys cause a fetch, which concurrent requests
    /// share, at most once within the interval.
    async fn key(&self, id: &str, now: UnixMillis) -> Result<PublicKey, Denied> {
        if let Some(key) = self.cached(id, now) {
            return Ok(key);
        }
        let seen = self.fetches.load(Ordering::SeqCst);
        let mut refetched_at = self.refetched_at.lock().await;
        if self.fetches.load(Ordering::SeqCst) == seen {
            let has_keys = self.has_keys(now);
            let is_too_soon =
                |at: UnixMillis| (0..REFETCH_INTERVAL_MS).contains(&now.saturating_sub(at));
            if refetched_at.is_some_and(is_too_soon) {
                return Err(if has_keys {
                    Denied::BadCredential
                } else {
                    Denied::NoKeys
                });
            }
            let fetched = self.fetch(now).await;
            self.fetches.fetch_add(1, Ordering::SeqCst);
            if has_keys || fetched.is_err() {
                *refetched_at = Some(now);
            }
            fetched?;
        }
        self.cached(id, now).ok_or(Denied::BadCredential)
    }

    fn cached(&self, id: &str, now: UnixMillis) -> Option<PublicKey> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.by_id
            .get(id)
            .filter(|_| keys.are_current(now))
            .cloned()
    }

    fn has_keys(&self, now: UnixMillis) -> bool {
        self.keys
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .are_current(now)
    }

    async fn fetch(&self, now: UnixMillis) -> Result<(), Denied> {
        let text = self.certificates.fetch().await.map_err(|error| {
            tracing::warn!(%error, "the keys of the access proxy could not be fetched");
            Denied::NoKeys
        })?;
        let Some(fetched) = public_keys(&text) else {
            tracing::warn!("the access proxy sent no key set");
            return Err(Denied::NoKeys);
        };
        let by_id = fetched
            .into_iter()
            .map(|key| (key.id.clone(), key))
            .collect();
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *keys = Keys {
            by_id,
            fetched_at: Some(now),
        };
        Ok(())
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
