//! Run history bodies.
//!
//! Clients use these types. The store reads requests as JSON, because each field has its own error.

use ars_types::{RunId, StoreKey, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Moment;

/// The store key of the bot.
pub const DEFAULT_STORE: &str = "runs:default";

/// Body of a route of the run store: the route's own fields beside the store's key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Keyed<'a, B> {
    /// The store.
    pub store_key: &'a StoreKey,
    /// The route's own fields.
    #[serde(flatten)]
    pub body: B,
}

/// Fields of `/runs/put`, and of `/runs/finish` beside the writer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PutRequest<R> {
    /// The record, whole.
    pub record: R,
    /// The proposed retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Time of the proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_updated_at: Option<UnixMillis>,
}

/// Retention, each field optional in a proposal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Days kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u64>,
    /// Runs kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// Bytes kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Answer of `/runs/put`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutResponse {
    /// Always true.
    pub ok: bool,
    /// Rows the policy keeps.
    pub retained: u64,
    /// The record is within the retention.
    pub stored: bool,
    /// A different version existed before.
    pub rewritten: bool,
}

/// Field of `/runs/get`, `/runs/summary` and `/runs/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GetRequest<'a> {
    /// The run.
    pub id: &'a RunId,
}

/// Answer of `/runs/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub struct GetResponse<R> {
    /// The record; null when unknown, expired or hidden, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub record: Option<R>,
}

/// Answer of `/runs/summary`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryResponse {
    /// The record without events, with `bytes`; null when unknown, expired or hidden, but never absent.
    #[serde(deserialize_with = "Option::deserialize")]
    pub summary: Option<Value>,
}

/// Answer of `/runs/delete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteResponse {
    /// Always true.
    pub ok: bool,
    /// The record existed.
    pub deleted: bool,
}

/// Filters and cursor of `/runs/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// Page size, at most 200; 50 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Cursor: finished before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Moment>,
    /// Cursor: among equal times, ids below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_id: Option<RunId>,
    /// Finished at or after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<Moment>,
    /// Exactly this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Exactly this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The viewer's filter; absent means every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_to: Option<Value>,
    /// Whether items have their diagnosis; absent means true.
    /// An older store ignores this field and the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<bool>,
    /// Most rows to search. The page then has a cursor even if it is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_scanned: Option<u32>,
}

/// Answer of `/runs/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
pub struct ListResponse<R = Value> {
    /// Records without events, newest first, with `bytes`.
    pub items: Vec<R>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<Cursor>,
}

/// A position in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// The end of the last row's run.
    pub finished_at: Moment,
    /// The last row's run.
    pub id: RunId,
}

/// Fields of `/runs/events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsRequest<'a> {
    /// The run.
    pub id: &'a RunId,
    /// Only events after it.
    pub after_seq: u64,
    /// Page size, 1 to 5000; 1000 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Answer of `/runs/events`: `events` is null when the run is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventsResponse {
    /// Events in seq order.
    #[serde(deserialize_with = "Option::deserialize")]
    pub events: Option<Vec<Value>>,
    /// The last seq of the page, if more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after_seq: Option<u64>,
}

/// A page of events of a known run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventsPage {
    /// Events in seq order.
    pub events: Vec<Value>,
    /// The last seq of the page, if more follow.
    pub next_after_seq: Option<u64>,
}
