//! The document port: versioned configuration documents.
//!
//! Not here: what the documents contain (`ars_bot_core::overrides`).

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
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

/// Maximum attempts per change; those after the first follow a conflict with another process.
const MAX_CHANGE_ATTEMPTS: usize = 8;

impl dyn Documents + '_ {
    /// Changes the newest document at each attempt. `change` returns the new document, or `None` to
    /// leave it, and a result.
    ///
    /// # Errors
    /// The store rejected the change, or other processes were always first.
    pub async fn change<T>(
        &self,
        key: &str,
        change: impl Fn(Option<Value>) -> Result<(Option<Value>, T), StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..MAX_CHANGE_ATTEMPTS {
            let found = self.newest(key).await?;
            let (document, result) = change(found.document)?;
            let Some(document) = document else {
                return Ok(result);
            };
            match self.replace(key, &document, found.version).await? {
                Replacement::Saved(_) => return Ok(result),
                Replacement::Stale(_) => {}
            }
        }
        Err(StoreError::transient(format!(
            "other processes wrote {key} first"
        )))
    }

    /// Changes a document of one type, and writes it if it is another one then.
    ///
    /// # Errors
    /// As for a change of an untyped document.
    pub async fn change_as<D, T>(
        &self,
        key: &str,
        change: impl Fn(&mut D) -> T,
    ) -> Result<T, StoreError>
    where
        D: Clone + Default + PartialEq + Serialize + DeserializeOwned,
    {
        self.change(key, |document| {
            let before: D = read_as(key, document);
            let mut after = before.clone();
            let result = change(&mut after);
            let document = (after != before).then(|| serde_json::to_value(&after));
            let document = document.transpose();
            let document = document.map_err(|error| StoreError::transient(error.to_string()))?;
            Ok((document, result))
        })
        .await
    }

    /// Returns a document of one type, or the default before the first write.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn read_as<D: Default + DeserializeOwned>(&self, key: &str) -> Result<D, StoreError> {
        Ok(read_as(key, self.newest(key).await?.document))
    }
}

/// Reads a document. One that is malformed would block every later change, so the default replaces
/// it.
fn read_as<D: Default + DeserializeOwned>(key: &str, document: Option<Value>) -> D {
    let Some(document) = document else {
        return D::default();
    };
    serde_json::from_value(document).unwrap_or_else(|error| {
        tracing::warn!(%key, %error, "a malformed document counts as empty");
        D::default()
    })
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
