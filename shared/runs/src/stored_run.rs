//! A stored run without its events, as lists show it.

use ars_types::{RunId, RunStatus, Visibility};
use ars_wire::Moment;
use serde::Deserialize;
use serde_json::{Number, Value};

/// A stored run without its events. A record of a later version has more fields.
///
/// The fields are few and typed, because a page has up to 200 runs: parsing whole records costs many times as much as
/// reading them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRun {
    /// Run id.
    pub id: RunId,
    /// Redacted summary of the request.
    pub label: Option<String>,
    /// Agent name.
    pub agent: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    /// Repository.
    pub repo: Option<String>,
    /// Namespaced channel id.
    pub channel_id: String,
    /// Namespaced user id.
    pub user_id: String,
    /// Visibility of the channel. An absent one reads as `unknown`, never `public`.
    pub channel_visibility: Option<Visibility>,
    /// Outcome.
    pub status: RunStatus,
    /// Creation time.
    pub started_at: Moment,
    /// Finish time.
    pub finished_at: Moment,
    /// Thread key.
    pub thread_key: Option<String>,
    /// Arrival time of the request.
    pub received_at: Option<Moment>,
    /// Time at which the event stream was sealed.
    pub sealed_at: Option<Moment>,
    /// Whether the reply was delivered.
    pub reply_ok: Option<bool>,
    /// Number of loop steps.
    pub step_count: Option<Number>,
    /// Schema version of the record.
    pub schema: Option<Number>,
    /// Number of published events.
    pub event_count: Option<Number>,
    /// Number of stored events.
    pub stored_event_count: Option<Number>,
    /// Whether the two counts differ.
    pub truncated: Option<bool>,
    /// Friction analysis, unless the list has none.
    pub diagnosis: Option<Value>,
    /// Size of the record.
    pub bytes: Option<Number>,
    /// Activity of the run, as its channel shows it.
    pub activity: Option<String>,
    /// Link to the request.
    pub source_url: Option<String>,
    /// Name of the user.
    pub user_name: Option<String>,
    /// See [`COST`](crate::COST).
    pub cost_micro_usd: Option<u64>,
    /// See [`REFLECTION_COST`](crate::REFLECTION_COST).
    pub reflection_micro_usd: Option<u64>,
    /// See [`ABRIDGE_COST`](crate::ABRIDGE_COST).
    pub abridge_micro_usd: Option<u64>,
    /// See [`PULL_REQUEST`](crate::PULL_REQUEST).
    pub pull_request: Option<Value>,
    /// See [`POSTED_REVIEW`](crate::POSTED_REVIEW).
    pub posted_review: Option<Value>,
    /// See [`RESERVED_COST`](crate::RESERVED_COST).
    pub held_micro_usd: Option<u64>,
    /// See [`TAINT`](crate::TAINT).
    pub taint: Option<Value>,
}
