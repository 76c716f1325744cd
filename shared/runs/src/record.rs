//! The run record (document 2 section 2.3).

use ars_types::{RunId, RunStatus, UnixMillis, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of records that hold span records.
pub const SCHEMA_WITH_SPANS: u32 = 2;

/// One run as it is kept. Events ride as JSON: readers must accept kinds they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// The run.
    pub id: RunId,
    /// What it is about, for lists; redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Namespaced channel.
    pub channel_id: String,
    /// Namespaced user.
    pub user_id: String,
    /// The thread.
    pub thread_key: String,
    /// Who may see the channel. A stored record that lacks it reads as `unknown`, never `public`.
    #[serde(default = "unknown_visibility")]
    pub channel_visibility: Visibility,
    /// The repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// When the run was created.
    pub started_at: UnixMillis,
    /// When it finished.
    pub finished_at: UnixMillis,
    /// When the request arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_at: Option<UnixMillis>,
    /// When the stream was sealed, after the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_at: Option<UnixMillis>,
    /// Whether the reply was delivered; absent when none was attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_ok: Option<bool>,
    /// Loop steps taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_count: Option<u32>,
    /// 2 once span records are emitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// How it ended.
    pub status: RunStatus,
    /// Events published.
    pub event_count: u64,
    /// Events kept: `events.len()`.
    pub stored_event_count: u64,
    /// The two counts differ.
    pub truncated: bool,
    /// The events, in seq order.
    pub events: Vec<Value>,
    /// What slowed it (`ars-friction`).
    pub diagnosis: Value,
    /// Fields of a later version, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn unknown_visibility() -> Visibility {
    Visibility::Unknown
}
