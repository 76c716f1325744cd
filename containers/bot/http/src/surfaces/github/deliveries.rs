//! Served deliveries, in a configuration store document.
//!
//! A delivery is recorded once its run exists or the dispatch ended. Until then the run's claim has
//! the delivery as idempotency key, so a process that ends in between loses no message and repeats
//! none. The document outlasts processes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Documents, Replacement, StoreError};
use ars_codehost::webhook::{Deliveries as Known, Delivery};
use ars_types::UnixMillis;
use serde_json::{Value, json};

/// Key for the document.
const DOCUMENT: &str = "webhook-deliveries";
/// The document's field with the deliveries.
const FIELD: &str = "deliveries";
/// Maximum attempts to record; those after the first follow a conflict with another process.
const MAX_RECORD_ATTEMPTS: usize = 4;

/// Deliveries from the last days.
pub(super) struct Deliveries {
    documents: Arc<dyn Documents>,
    /// Ids for deliveries in dispatch.
    serving: Mutex<BTreeSet<String>>,
    /// Locked while recording, so that records in this process do not conflict.
    recording: tokio::sync::Mutex<()>,
}

/// A delivery that this process serves, until dropped.
pub(super) struct Serving {
    deliveries: Arc<Deliveries>,
    id: String,
}

impl Deliveries {
    pub(super) fn new(documents: Arc<dyn Documents>) -> Self {
        Self {
            documents,
            serving: Mutex::default(),
            recording: tokio::sync::Mutex::default(),
        }
    }

    /// Begins a delivery. `None` if it was received before, or if the id is invalid.
    pub(super) async fn begin(
        self: &Arc<Self>,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Serving>, StoreError> {
        match self.load().await?.0.check(id, now) {
            Delivery::First => {}
            Delivery::Repeated | Delivery::Invalid => return Ok(None),
        }
        if !self.lock().insert(id.to_owned()) {
            return Ok(None);
        }
        Ok(Some(Serving {
            deliveries: Arc::clone(self),
            id: id.to_owned(),
        }))
    }

    async fn load(&self) -> Result<(Known, u64), StoreError> {
        let found = self.documents.newest(DOCUMENT).await?;
        let text = found
            .document
            .as_ref()
            .and_then(|document| document[FIELD].as_str());
        Ok((text.map(Known::parse).unwrap_or_default(), found.version))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Serving {
    /// Records the delivery. A failure is logged: the ledger still knows the delivery's run.
    pub(super) async fn record(&self, now: UnixMillis) {
        let Deliveries {
            documents,
            recording,
            ..
        } = &*self.deliveries;
        let _one_at_a_time = recording.lock().await;
        for _ in 0..MAX_RECORD_ATTEMPTS {
            let replaced = async {
                let (mut known, version) = self.deliveries.load().await?;
                known.record(&self.id, now);
                let document: Value = json!({ FIELD: known.text() });
                documents.replace(DOCUMENT, &document, version).await
            };
            match replaced.await {
                Ok(Replacement::Saved(_)) => return,
                Ok(Replacement::Stale(_)) => {}
                Err(error) => return tracing::warn!(%error, "a webhook delivery was not recorded"),
            }
        }
        tracing::warn!("a webhook delivery was not recorded: other processes wrote first");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.deliveries.lock().remove(&self.id);
    }
}
