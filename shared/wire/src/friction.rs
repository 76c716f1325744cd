//! Friction ledger bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has a separate
//! error.

use ars_types::{StoreKey, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::millis::rounded;

/// The ledger for runs without a repository; a repository's ledger is `friction:<owner/name>`.
pub const DEFAULT_LEDGER: &str = "friction:default";

/// Request body for `/friction/record`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordRequest {
    /// Key of the ledger.
    pub ledger_key: StoreKey,
    /// The record, which replaces the run's earlier record.
    pub record: FrictionRecord,
}

/// A single run's diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrictionRecord {
    /// The run, 1 to 200 characters. A ledger does not enforce the run id grammar.
    pub run_id: String,
    /// Time at which it finished.
    #[serde(deserialize_with = "rounded")]
    pub finished_at: UnixMillis,
    /// Title of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The analyzer's output, opaque to the store.
    pub diagnosis: Value,
}

/// Response from `/friction/record`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Number of records in the ledger.
    pub retained: u64,
}

/// Request body for `/friction/recent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentRequest {
    /// Key of the ledger.
    pub ledger_key: StoreKey,
    /// Page size, 1 to 1000; 500 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Finished at or after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<UnixMillis>,
}

/// Response from `/friction/recent`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentResponse {
    /// The newest records, oldest first.
    pub records: Vec<FrictionRecord>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_are_not_written_as_null() {
        let request = RecordRequest {
            ledger_key: StoreKey::parse(DEFAULT_LEDGER).unwrap(),
            record: FrictionRecord {
                run_id: "r".into(),
                finished_at: 5,
                label: None,
                agent: Some("coding".into()),
                diagnosis: json!({}),
            },
        };
        let record = json!({ "runId": "r", "finishedAt": 5, "agent": "coding", "diagnosis": {} });
        let body = json!({ "ledgerKey": "friction:default", "record": record });
        assert_eq!(serde_json::to_value(&request).unwrap(), body);
        let recent = RecentRequest {
            ledger_key: request.ledger_key,
            limit: Some(3),
            since_ms: None,
        };
        let body = json!({ "ledgerKey": "friction:default", "limit": 3 });
        assert_eq!(serde_json::to_value(recent).unwrap(), body);
    }

    #[test]
    fn any_spelling_of_a_number_is_read() {
        let text = r#"{"records":[{"runId":"r","finishedAt":1.7e3,"diagnosis":{},"later":1},
            {"runId":"s","finishedAt":2.5,"diagnosis":null}]}"#;
        let read: RecentResponse = serde_json::from_str(text).unwrap();
        assert_eq!(
            read.records
                .iter()
                .map(|record| record.finished_at)
                .collect::<Vec<_>>(),
            [1700, 3]
        );
    }
}
