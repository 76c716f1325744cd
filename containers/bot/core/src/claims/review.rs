//! Claims on posted reviews, in a document that all of an installation's processes share.
//!
//! Not here: claim rules (`ars_codehost::review::ReviewClaims`). An installation without documents
//! has a single process, and keeps the claims in it.

use std::sync::{Arc, Mutex, PoisonError};

use ars_bot_ports::Documents;
use ars_codehost::review::{Claimed, ReviewClaims};
use ars_types::{RunId, UnixMillis};

/// The document's key.
const DOCUMENT: &str = "review-claims";

/// Stores the review claims.
#[derive(Default)]
pub(crate) struct ReviewClaimStore {
    documents: Option<Arc<dyn Documents>>,
    local: Mutex<ReviewClaims>,
    /// Locked during a claim, so that this process's claims do not conflict.
    claiming: tokio::sync::Mutex<()>,
}

impl ReviewClaimStore {
    pub(crate) fn new(documents: Option<Arc<dyn Documents>>) -> Self {
        Self {
            documents,
            ..Self::default()
        }
    }

    /// Claims a review for a run. `None` if the store does not answer.
    pub(crate) async fn claim(&self, key: &str, run: &RunId, now: UnixMillis) -> Option<Claimed> {
        self.change(run, |claims| claims.claim(key, run, now)).await
    }

    /// Claims a review when the owner ended without a post. `None` if the store does not answer.
    pub(crate) async fn claim_of_ended(
        &self,
        key: &str,
        run: &RunId,
        ended: &RunId,
        now: UnixMillis,
    ) -> Option<Claimed> {
        self.change(run, |claims| claims.claim_of_ended(key, run, ended, now))
            .await
    }

    /// Releases the claim for a run that posted nothing. It expires if the store does not answer.
    pub(crate) async fn release(&self, key: &str, run: &RunId) {
        self.change(run, |claims| claims.release(key, run)).await;
    }

    /// Changes the claims by compare-and-swap. `None` if the store does not answer.
    async fn change<T>(&self, run: &RunId, change: impl Fn(&mut ReviewClaims) -> T) -> Option<T> {
        let Some(documents) = &self.documents else {
            let mut local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
            return Some(change(&mut local));
        };
        let _one_at_a_time = self.claiming.lock().await;
        let changed = (**documents).change_as(DOCUMENT, change).await;
        changed
            .inspect_err(
                |error| tracing::warn!(%run, %error, "the claim of a review was not written"),
            )
            .ok()
    }

    /// Returns the run that claimed a review last, if that is known.
    pub(crate) async fn owner(&self, key: &str) -> Option<RunId> {
        match &self.documents {
            None => self
                .local
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .owner(key)
                .cloned(),
            Some(documents) => {
                let claims: ReviewClaims = (**documents).read_as(DOCUMENT).await.ok()?;
                claims.owner(key).cloned()
            }
        }
    }
}
