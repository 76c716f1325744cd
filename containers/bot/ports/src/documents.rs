//! The document port: versioned configuration documents.
//!
//! Not here: what the documents contain (`ars_bot_core::overrides`).

use async_trait::async_trait;
use serde_json::Value;

use super::StoreError;

/// Documents by key, replaced by compare-and-swap on their version.
#[async_trait]
pub trait Documents: Send + Sync {
    /// Returns the document's newest version under a key, a lowercase slug.
    async fn newest(&self, key: &str) -> Result<Document, StoreError>;

    /// Replaces version `expected`, which is 0 before there is a document, with this object.
    async fn replace(
        &self,
        key: &str,
        document: &Value,
        expected: u64,
    ) -> Result<Replacement, StoreError>;
}

/// A stored document and version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The document, or `None` before the first write.
    pub document: Option<Value>,
    /// Number of writes so far.
    pub version: u64,
}

/// How a replacement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The document was written as this version.
    Saved(u64),
    /// Nothing was written, because another writer's version is the newest.
    Stale(u64),
}
