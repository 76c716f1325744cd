//! Claims on work that only a single process of an installation does at a time.
//!
//! They are in a document that all processes share.
//!
//! An installation without documents has a single process, and keeps the claims in it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_ports::Documents;
use ars_types::{RunId, UnixMillis};
use serde::{Deserialize, Serialize};

/// The document's key.
const DOCUMENT: &str = "work-claims";
/// Maximum age of a live work claim in milliseconds. A process that ended in between blocks no
/// other.
pub(crate) const MAX_WORK_CLAIM_AGE_MS: i64 = 900_000;

/// Stores the work claims.
#[derive(Default)]
pub(crate) struct WorkClaims {
    documents: Option<Arc<dyn Documents>>,
    local: Mutex<Known>,
    /// Locked during a claim, so that this process's claims do not conflict.
    claiming: tokio::sync::Mutex<()>,
    /// Locked while this process files issues, so that the calls wait for each other.
    filing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    #[serde(default)]
    claims: BTreeMap<String, Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    owner: RunId,
    at: UnixMillis,
}

impl Known {
    /// Claims work. Returns whether the owner has it.
    fn claim(&mut self, key: &str, owner: &RunId, now: UnixMillis) -> bool {
        self.claims
            .retain(|_, claim| now.saturating_sub(claim.at) < MAX_WORK_CLAIM_AGE_MS);
        if self
            .claims
            .get(key)
            .is_some_and(|claim| claim.owner != *owner)
        {
            return false;
        }
        self.claims.insert(
            key.to_owned(),
            Claim {
                owner: owner.clone(),
                at: now,
            },
        );
        true
    }

    fn release(&mut self, key: &str, owner: &RunId) {
        if self
            .claims
            .get(key)
            .is_some_and(|claim| claim.owner == *owner)
        {
            self.claims.remove(key);
        }
    }
}

impl WorkClaims {
    pub(crate) fn new(documents: Option<Arc<dyn Documents>>) -> Self {
        Self {
            documents,
            ..Self::default()
        }
    }

    /// Waits until this process files no issues in another call.
    pub(crate) async fn filing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.filing.lock().await
    }

    /// Claims work. Returns whether the owner has it, or `None` if the store does not answer.
    pub(crate) async fn claim(&self, key: &str, owner: &RunId, now: UnixMillis) -> Option<bool> {
        self.change(|known| known.claim(key, owner, now)).await
    }

    /// Releases a claim. It expires if the store does not answer.
    pub(crate) async fn release(&self, key: &str, owner: &RunId) {
        self.change(|known| known.release(key, owner)).await;
    }

    /// Changes the claims by compare-and-swap.
    async fn change<T>(&self, change: impl Fn(&mut Known) -> T) -> Option<T> {
        let Some(documents) = &self.documents else {
            let mut local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
            return Some(change(&mut local));
        };
        let _one_at_a_time = self.claiming.lock().await;
        let changed = documents.change_as(DOCUMENT, change).await;
        changed
            .inspect_err(|error| tracing::warn!(%error, "a claim of work was not written"))
            .ok()
    }
}
