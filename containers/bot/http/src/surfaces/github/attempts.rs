//! Attempts to fix failed checks, in a configuration store document.

use std::sync::Arc;

use ars_bot_ports::{Documents, StoreError};
use ars_codehost::{
    diff::Commit,
    webhook::{Attempt, CheckAttempts},
};
use ars_types::{RepoSlug, UnixMillis};

/// Key for the document.
const DOCUMENT: &str = "webhook-check-attempts";

/// Attempts that were counted.
pub(super) struct AttemptStore {
    documents: Arc<dyn Documents>,
    /// Locked while recording, so that records in this process do not conflict.
    recording: tokio::sync::Mutex<()>,
}

impl AttemptStore {
    pub(super) fn new(documents: Arc<dyn Documents>) -> Self {
        Self {
            documents,
            recording: tokio::sync::Mutex::default(),
        }
    }

    /// Counts an attempt at a failed check, before the message is dispatched.
    pub(super) async fn begin(
        &self,
        pull_request: (&RepoSlug, u64),
        head: &Commit,
        delivery: &str,
        now: UnixMillis,
    ) -> Result<Attempt, StoreError> {
        self.change(|counted| counted.begin(pull_request, head, delivery, now))
            .await
    }

    /// Gives an attempt back, because no run began. A failure is logged: the attempt stays counted.
    pub(super) async fn give_back(
        &self,
        pull_request: (&RepoSlug, u64),
        head: &Commit,
        delivery: &str,
    ) {
        let given = self
            .change(|counted| counted.give_back(pull_request, head, delivery))
            .await;
        if let Err(error) = given {
            tracing::warn!(%error, "an attempt to mend a failed check was not given back");
        }
    }

    /// Changes the attempts by compare-and-swap.
    async fn change<T>(&self, change: impl Fn(&mut CheckAttempts) -> T) -> Result<T, StoreError> {
        let _one_at_a_time = self.recording.lock().await;
        self.documents.change_as(DOCUMENT, change).await
    }
}
