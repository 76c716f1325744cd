//! Documents in memory, with compare-and-swap, and an outage on demand.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ars_bot_ports::{Document, Documents, Replacement, StoreError, StoreErrorKind};
use async_trait::async_trait;
use serde_json::Value;

/// Documents in memory.
#[derive(Debug, Default)]
pub struct MemoryDocuments {
    /// Whether writes fail for now.
    pub is_down: AtomicBool,
    writes: AtomicUsize,
    documents: Mutex<BTreeMap<String, Document>>,
}

impl MemoryDocuments {
    /// Returns how many writes were saved.
    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Document>> {
        self.documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Documents for MemoryDocuments {
    async fn newest(&self, key: &str) -> Result<Document, StoreError> {
        Ok(self.lock().get(key).cloned().unwrap_or_default())
    }

    async fn replace(
        &self,
        key: &str,
        document: &Value,
        expected: u64,
    ) -> Result<Replacement, StoreError> {
        // Yields to others, as a network would.
        tokio::task::yield_now().await;
        if self.is_down.load(Ordering::SeqCst) {
            return Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "as scripted".into(),
            });
        }
        let mut documents = self.lock();
        let stored = documents.entry(key.to_owned()).or_default();
        if stored.version != expected {
            return Ok(Replacement::Stale(stored.version));
        }
        *stored = Document {
            document: Some(document.clone()),
            version: expected + 1,
        };
        self.writes.fetch_add(1, Ordering::SeqCst);
        Ok(Replacement::Saved(expected + 1))
    }
}
