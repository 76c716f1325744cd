//! Configuration document bodies (state-worker supplement section 14).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key under which the bot keeps what was changed at run time.
pub const OVERRIDES: &str = "overrides";

/// Body of `/config/get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GetRequest<'a> {
    /// The document's key, a lowercase slug.
    pub key: &'a str,
}

/// Answer of `/config/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GetResponse {
    /// The document; null when none was ever put, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub document: Option<Value>,
    /// How often it was put.
    pub version: u64,
}

/// Body of `/config/put`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PutRequest<'a> {
    /// The document's key.
    pub key: &'a str,
    /// The document, an object.
    pub document: &'a Value,
    /// The version that this one replaces; 0 when there is none.
    pub expected_version: u64,
}

/// Answer of `/config/put`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutResponse {
    /// Always true.
    pub ok: bool,
    /// The version this document now is.
    pub version: u64,
}

/// 409 of `/config/put`: somebody else's version came first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stale {
    /// Short text.
    pub error: String,
    /// The version there is.
    pub version: u64,
}
