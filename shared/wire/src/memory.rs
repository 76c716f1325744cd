//! Memory bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has a separate
//! error.

use ars_types::{StoreKey, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::millis::rounded;

/// Request body for `/retrieve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveRequest {
    /// Key of the scope.
    pub scope_key: StoreKey,
    /// Any text with at most 4000 characters.
    pub query: String,
    /// Page size, 1 to 50.
    pub limit: u32,
}

/// Request body for `/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// Key of the scope.
    pub scope_key: StoreKey,
    /// Page size, 1 to 50.
    pub limit: u32,
    /// Filter; absent means every record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Response from `/retrieve` and `/list`. With JSON values as records, a reader can skip a
/// malformed record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsResponse<R = MemoryRecord> {
    /// Best first, or newest first.
    pub records: Vec<R>,
}

/// Request body for `/write`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRequest {
    /// Key of the scope.
    pub scope_key: StoreKey,
    /// Candidates, at most 50.
    pub records: Vec<Candidate>,
    /// Maximum number of active records in the scope, 1 to 10000; 500 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
}

/// A candidate for a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Kind of the record.
    pub kind: Kind,
    /// The text, at most 4000 characters.
    pub text: String,
    /// The thread it was learned in.
    pub source_thread_key: String,
    /// At most 20, with at most 64 characters each. Without any the words in the text are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The run it was learned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_run_id: Option<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The record that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// Untrusted sources that the run had read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
}

/// Response from `/write`: every candidate is inserted or deduped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Candidates that became a record.
    pub inserted: u64,
    /// Candidates that repeat an active record.
    pub deduped: u64,
    /// Records that a candidate replaced.
    pub superseded: u64,
    /// Records beyond the cap. A Worker without the cap omits the count.
    #[serde(default)]
    pub evicted: u64,
}

/// Request body for `/forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetRequest {
    /// Key of the scope.
    pub scope_key: StoreKey,
    /// Id of the record.
    pub id: String,
}

/// Response from `/forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetResponse {
    /// Always true in this response.
    pub ok: bool,
    /// The record was active.
    pub forgotten: bool,
}

/// A record in a scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRecord {
    /// Record id, `mem:<scopeKey>:<n>`.
    pub id: String,
    /// Key of the scope.
    pub scope_key: StoreKey,
    /// Kind of the record.
    pub kind: Kind,
    /// Text of the record.
    pub text: String,
    /// Keywords for finding the record.
    pub keywords: Vec<String>,
    /// The thread it was learned in.
    pub source_thread_key: String,
    /// The run it was learned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_run_id: Option<String>,
    /// Time at which it was learned.
    #[serde(deserialize_with = "rounded")]
    pub created_at: UnixMillis,
    /// When it was last retrieved.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "rounded_if_any"
    )]
    pub last_used_at: Option<UnixMillis>,
    /// Number of retrievals and repetitions.
    pub use_count: u64,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The record that it replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// Untrusted sources that the run had read. Empty also for records from earlier releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
    /// Always active on the wire.
    pub status: Status,
}

/// A record's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A fact that lasts.
    Fact,
    /// A conversation's outcome.
    Summary,
}

/// An untrusted source: its text may steer a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Taint {
    /// Pages and search results from the web.
    Web,
    /// A repository that the configuration does not name.
    Repository,
    /// A record from a run that had read such a source.
    Memory,
    /// A pull request under review, or a code host event.
    Host,
    /// An earlier run in the thread had read such a source, or it is not known whether any had.
    Thread,
    /// A source from a later release.
    #[serde(other)]
    Other,
}

impl Taint {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Repository => "repository",
            Self::Memory => "memory",
            Self::Host => "host",
            Self::Thread => "thread",
            Self::Other => "other",
        }
    }
}

/// A record's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The record is retrieved and listed.
    Active,
    /// Replaced by another record.
    Superseded,
}

fn rounded_if_any<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<UnixMillis>, D::Error> {
    rounded(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> MemoryRecord {
        MemoryRecord {
            id: "mem:org:acme:0".into(),
            scope_key: StoreKey::parse("org:acme").unwrap(),
            kind: Kind::Fact,
            text: "CI runs nightly".into(),
            keywords: vec!["ci".into()],
            source_thread_key: "t:C1:1".into(),
            source_run_id: None,
            created_at: 1_700_000_000_000,
            last_used_at: None,
            use_count: 0,
            confidence: None,
            supersedes: None,
            taint: vec![],
            status: Status::Active,
        }
    }

    #[test]
    fn absent_record_fields_are_omitted() {
        let travelling = json!({
            "id": "mem:org:acme:0", "scopeKey": "org:acme", "kind": "fact", "text": "CI runs nightly",
            "keywords": ["ci"], "sourceThreadKey": "t:C1:1", "createdAt": 1_700_000_000_000_i64, "useCount": 0,
            "status": "active",
        });
        assert_eq!(serde_json::to_value(record()).unwrap(), travelling);
        assert_eq!(
            serde_json::from_value::<MemoryRecord>(travelling).unwrap(),
            record()
        );
    }

    #[test]
    fn complete_record_round_trips() {
        let whole = MemoryRecord {
            kind: Kind::Summary,
            source_run_id: Some("r-1".into()),
            last_used_at: Some(1_700_000_000_001),
            use_count: 3,
            confidence: Some(0.75),
            supersedes: Some("mem:org:acme:9".into()),
            taint: vec![Taint::Web, Taint::Repository],
            ..record()
        };
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<MemoryRecord>(&text).unwrap(), whole);
    }

    #[test]
    fn any_spelling_of_a_number_is_read() {
        let mut other = serde_json::to_value(record()).unwrap();
        other["createdAt"] = json!(1.7e3);
        other["lastUsedAt"] = json!(2.5);
        other["confidence"] = json!(1);
        other["later"] = json!(true);
        other["taint"] = json!(["web", "later"]);
        let read: MemoryRecord = serde_json::from_value(other).unwrap();
        assert_eq!(
            (read.created_at, read.last_used_at, read.confidence),
            (1700, Some(3), Some(1.0))
        );
        assert_eq!(read.taint, [Taint::Web, Taint::Other]);
    }

    #[test]
    fn absent_request_fields_are_omitted() {
        let scope_key = StoreKey::parse("org:acme").unwrap();
        let candidate = Candidate {
            kind: Kind::Fact,
            text: "x".into(),
            source_thread_key: "t".into(),
            keywords: vec![],
            source_run_id: None,
            confidence: None,
            supersedes: None,
            taint: vec![],
        };
        let write = WriteRequest {
            scope_key: scope_key.clone(),
            records: vec![candidate],
            cap: None,
        };
        let body = json!({
            "scopeKey": "org:acme", "records": [{ "kind": "fact", "text": "x", "sourceThreadKey": "t" }],
        });
        assert_eq!(serde_json::to_value(write).unwrap(), body);
        let list = ListRequest {
            scope_key,
            limit: 20,
            query: None,
        };
        assert_eq!(
            serde_json::to_value(list).unwrap(),
            json!({ "scopeKey": "org:acme", "limit": 20 })
        );
    }

    #[test]
    fn missing_eviction_count_is_zero() {
        let answer = r#"{"ok":true,"inserted":1,"deduped":2,"superseded":3}"#;
        let expected = WriteResponse {
            ok: true,
            inserted: 1,
            deduped: 2,
            superseded: 3,
            evicted: 0,
        };
        assert_eq!(
            serde_json::from_str::<WriteResponse>(answer).unwrap(),
            expected
        );
    }
}
