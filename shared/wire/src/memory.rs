//! Memory bodies (document 2 sections 2.2 and 4.2, state-worker supplement section 2).
//!
//! Clients build and read these types. The store reads requests as JSON, because each field has its own refusal.

use ars_types::{StoreKey, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::millis::rounded;

/// Body of `/retrieve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveRequest {
    /// The scope.
    pub scope_key: StoreKey,
    /// Any text of at most 4000 characters.
    pub query: String,
    /// Records wanted, 1 to 50.
    pub limit: u32,
}

/// Body of `/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// The scope.
    pub scope_key: StoreKey,
    /// Records wanted, 1 to 50.
    pub limit: u32,
    /// Only records that match it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Answer of `/retrieve` and `/list`. A reader that would rather lose one record than all reads them as JSON values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsResponse<R = MemoryRecord> {
    /// Best first, or newest first.
    pub records: Vec<R>,
}

/// Body of `/write`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRequest {
    /// The scope.
    pub scope_key: StoreKey,
    /// At most 50.
    pub records: Vec<Candidate>,
    /// Active records that the scope keeps, 1 to 10000; 500 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
}

/// What may become a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// What it is.
    pub kind: Kind,
    /// What it says, at most 4000 characters.
    pub text: String,
    /// The thread it was learned in.
    pub source_thread_key: String,
    /// At most 20, of at most 64 characters each. Without any the words of the text take their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The run it was learned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_run_id: Option<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The record whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
}

/// Answer of `/write`: every candidate is inserted or deduped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteResponse {
    /// Always true.
    pub ok: bool,
    /// Candidates that became a record.
    pub inserted: u64,
    /// Candidates that an active record said already.
    pub deduped: u64,
    /// Records that a candidate took the place of.
    pub superseded: u64,
    /// Records beyond the cap. A Worker older than the cap does not say.
    #[serde(default)]
    pub evicted: u64,
}

/// Body of `/forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetRequest {
    /// The scope.
    pub scope_key: StoreKey,
    /// The record.
    pub id: String,
}

/// Answer of `/forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetResponse {
    /// Always true.
    pub ok: bool,
    /// There was such an active record.
    pub forgotten: bool,
}

/// What a scope remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRecord {
    /// `mem:<scopeKey>:<n>`.
    pub id: String,
    /// The scope.
    pub scope_key: StoreKey,
    /// What it is.
    pub kind: Kind,
    /// What it says.
    pub text: String,
    /// What else it is found by.
    pub keywords: Vec<String>,
    /// The thread it was learned in.
    pub source_thread_key: String,
    /// The run it was learned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_run_id: Option<String>,
    /// When it was learned.
    #[serde(deserialize_with = "rounded")]
    pub created_at: UnixMillis,
    /// When it was last retrieved.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rounded_if_any")]
    pub last_used_at: Option<UnixMillis>,
    /// How often it was retrieved or said again.
    pub use_count: u64,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The record whose place it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// On the wire always active.
    pub status: Status,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something that holds.
    Fact,
    /// What a conversation came to.
    Summary,
}

/// Whether a record counts (document 2 section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It does.
    Active,
    /// Another took its place.
    Superseded,
}

fn rounded_if_any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<UnixMillis>, D::Error> {
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
            status: Status::Active,
        }
    }

    #[test]
    fn a_record_travels_without_the_fields_it_lacks() {
        let travelling = json!({
            "id": "mem:org:acme:0", "scopeKey": "org:acme", "kind": "fact", "text": "CI runs nightly",
            "keywords": ["ci"], "sourceThreadKey": "t:C1:1", "createdAt": 1_700_000_000_000_i64, "useCount": 0,
            "status": "active",
        });
        assert_eq!(serde_json::to_value(record()).unwrap(), travelling);
        assert_eq!(serde_json::from_value::<MemoryRecord>(travelling).unwrap(), record());
    }

    #[test]
    fn a_whole_record_comes_back_as_it_went() {
        let whole = MemoryRecord {
            kind: Kind::Summary,
            source_run_id: Some("r-1".into()),
            last_used_at: Some(1_700_000_000_001),
            use_count: 3,
            confidence: Some(0.75),
            supersedes: Some("mem:org:acme:9".into()),
            ..record()
        };
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<MemoryRecord>(&text).unwrap(), whole);
    }

    #[test]
    fn a_record_of_another_writer_is_read_whatever_its_numbers_look_like() {
        let mut other = serde_json::to_value(record()).unwrap();
        other["createdAt"] = json!(1.7e3);
        other["lastUsedAt"] = json!(2.5);
        other["confidence"] = json!(1);
        other["later"] = json!(true);
        let read: MemoryRecord = serde_json::from_value(other).unwrap();
        assert_eq!((read.created_at, read.last_used_at, read.confidence), (1700, Some(3), Some(1.0)));
    }

    #[test]
    fn requests_leave_out_what_was_not_asked_for() {
        let scope_key = StoreKey::parse("org:acme").unwrap();
        let candidate = Candidate {
            kind: Kind::Fact,
            text: "x".into(),
            source_thread_key: "t".into(),
            keywords: vec![],
            source_run_id: None,
            confidence: None,
            supersedes: None,
        };
        let write = WriteRequest { scope_key: scope_key.clone(), records: vec![candidate], cap: None };
        let body = json!({
            "scopeKey": "org:acme", "records": [{ "kind": "fact", "text": "x", "sourceThreadKey": "t" }],
        });
        assert_eq!(serde_json::to_value(write).unwrap(), body);
        let list = ListRequest { scope_key, limit: 20, query: None };
        assert_eq!(serde_json::to_value(list).unwrap(), json!({ "scopeKey": "org:acme", "limit": 20 }));
    }

    #[test]
    fn a_worker_that_knows_no_cap_evicts_nothing() {
        let answer = r#"{"ok":true,"inserted":1,"deduped":2,"superseded":3}"#;
        let expected = WriteResponse { ok: true, inserted: 1, deduped: 2, superseded: 3, evicted: 0 };
        assert_eq!(serde_json::from_str::<WriteResponse>(answer).unwrap(), expected);
    }
}
