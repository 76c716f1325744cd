//! Run history bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has a separate
//! error.

use ars_types::{RunId, StoreKey, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Moment;

/// The bot's store key.
pub const DEFAULT_STORE: &str = "runs:default";

/// Request body for a run store route: the route's own fields beside the store's key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Keyed<'a, B> {
    /// Key of the store.
    pub store_key: &'a StoreKey,
    /// The route's own fields.
    #[serde(flatten)]
    pub body: B,
}

/// Fields for `/runs/put`, and for `/runs/finish` beside the writer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PutRequest<R> {
    /// The record as a whole.
    pub record: R,
    /// The retention that is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// When it was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_updated_at: Option<UnixMillis>,
}

/// Retention, each field optional in a proposal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Days that runs are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u64>,
    /// Number of runs kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// Number of bytes kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Response from `/runs/put`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Rows the policy keeps.
    pub retained: u64,
    /// The record is within the retention.
    pub stored: bool,
    /// A different version existed before.
    pub rewritten: bool,
}

/// The field for `/runs/get`, `/runs/summary` and `/runs/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GetRequest<'a> {
    /// Id of the run.
    pub id: &'a RunId,
}

/// Response from `/runs/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub struct GetResponse<R> {
    /// The record; null when unknown, expired or hidden, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub record: Option<R>,
}

/// Response from `/runs/summary`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryResponse {
    /// The record without events, with `bytes`; null when unknown, expired or hidden, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub summary: Option<Value>,
}

/// Response from `/runs/delete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteResponse {
    /// Always true in this response.
    pub ok: bool,
    /// Whether the record existed.
    pub deleted: bool,
}

/// Filters and cursor for `/runs/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// Page size, at most 200; 50 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Cursor: runs that finished before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Moment>,
    /// Cursor: among equal times, ids below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_id: Option<RunId>,
    /// Finished at or after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<Moment>,
    /// Runs by exactly this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Runs in exactly this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The viewer's filter; absent means every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_to: Option<Value>,
    /// Whether items have their diagnosis; absent means true. An older store ignores this field and
    /// the next field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<bool>,
    /// Most rows to search. The page then has a cursor even if it is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_scanned: Option<u32>,
}

/// Response from `/runs/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
pub struct ListResponse<R = Value> {
    /// Records without events, newest first, with `bytes`.
    pub items: Vec<R>,
    /// The next page's cursor, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<Cursor>,
}

/// A position in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// When the last row's run ended.
    pub finished_at: Moment,
    /// The last row's run.
    pub id: RunId,
}

/// Fields for `/runs/events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsRequest<'a> {
    /// Id of the run.
    pub id: &'a RunId,
    /// Only events after it.
    pub after_seq: u64,
    /// Page size, 1 to 5000; 1000 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Response from `/runs/events`: `events` is null when the run is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsResponse {
    /// Events in seq order.
    #[serde(deserialize_with = "Option::deserialize")]
    pub events: Option<Vec<Value>>,
    /// The page's last seq, if more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after_seq: Option<u64>,
}

/// A page of events from a known run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventsPage {
    /// Events in seq order.
    pub events: Vec<Value>,
    /// The page's last seq, if more follow.
    pub next_after_seq: Option<u64>,
}
