//! Configuration document bodies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Key of the settings changed at run time.
pub const OVERRIDES: &str = "overrides";

/// Request body for `/config/get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GetRequest<'a> {
    /// The document's key, a lowercase slug.
    pub key: &'a str,
}

/// Response from `/config/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GetResponse {
    /// The document; null before the first put, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub document: Option<Value>,
    /// Number of puts so far.
    pub version: u64,
}

/// Request body for `/config/put`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PutRequest<'a> {
    /// Key of the document.
    pub key: &'a str,
    /// The document, an object.
    pub document: &'a Value,
    /// The version to replace; 0 for a new document.
    pub expected_version: u64,
}

/// Response from `/config/put`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutResponse {
    /// Always true in this response.
    pub ok: bool,
    /// The document's new version.
    pub version: u64,
}

/// 409 from `/config/put`: another writer was first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    /// Short text for people.
    pub error: String,
    /// The version that is current.
    pub version: u64,
}
