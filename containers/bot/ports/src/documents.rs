//! The document port: configuration kept by version (state-worker supplement section 14).
//!
//! Not here: what the documents say (`ars_bot_core::overrides`).

use async_trait::async_trait;
use serde_json::Value;

use super::StoreError;

/// Documents by key, each replaced only by who has seen what it replaces.
#[async_trait]
pub trait Documents: Send + Sync {
    /// The newest version of the document under a key, a lowercase slug.
    async fn newest(&self, key: &str) -> Result<Document, StoreError>;

    /// Replaces version `expected`, which is 0 before there is a document, with this object.
    async fn replace(&self, key: &str, document: &Value, expected: u64) -> Result<Replacement, StoreError>;
}

/// A document as it is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// None when there is none yet.
    pub document: Option<Value>,
    /// How often it was put.
    pub version: u64,
}

/// What became of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The document is this version now.
    Saved(u64),
    /// Nothing changed: somebody else's is the newest, of this version.
    Stale(u64),
}
