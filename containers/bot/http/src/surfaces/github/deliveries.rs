//! Served deliveries, in a configuration store document.
//!
//! A delivery is recorded once its run exists or the dispatch ended. Until then the run's claim has
//! the delivery as idempotency key, so a process that ends in between loses no message and repeats
//! none. The document outlasts processes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Documents, StoreError};
use ars_codehost::webhook::{Deliveries as Known, Delivery};
use ars_types::UnixMillis;
use serde_json::{Value, json};

/// Key for the document.
const DOCUMENT: &str = "webhook-deliveries";
/// The document's field with the deliveries.
const FIELD: &str = "deliveries";

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
        let stored = self.documents.newest(DOCUMENT).await?;
        match known(stored.document.as_ref()).check(id, now) {
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
        let recorded = documents.change(DOCUMENT, |document| {
            let mut known = known(document.as_ref());
            known.record(&self.id, now);
            Ok((Some(json!({ FIELD: known.text() })), ()))
        });
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "a webhook delivery was not recorded");
        }
    }
}

/// Reads the deliveries.
fn known(document: Option<&Value>) -> Known {
    let text = document.and_then(|document| document[FIELD].as_str());
    text.map(Known::parse).unwrap_or_default()
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.deliveries.lock().remove(&self.id);
    }
}
