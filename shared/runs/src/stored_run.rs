//! A stored run without its events, as lists show it.

use ars_types::{RunId, RunStatus, Visibility};
use ars_wire::Moment;
use serde::Deserialize;
use serde_json::{Number, Value};

/// A stored run without its events. A later version's record has more fields.
///
/// The fields are few and typed, because a page has up to 200 runs: parsing whole records costs
/// many times as much as reading them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRun {
    /// Id of the run.
    pub id: RunId,
    /// Redacted request summary, for lists.
    pub label: Option<String>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Model as `provider/model`.
    pub model: Option<String>,
    /// Repository that the run worked on.
    pub repo: Option<String>,
    /// Channel id with the namespace.
    pub channel_id: String,
    /// User id with the namespace.
    pub user_id: String,
    /// The channel's visibility. An absent value reads as `unknown`, never `public`.
    pub channel_visibility: Option<Visibility>,
    /// How the run ended.
    pub status: RunStatus,
    /// When the run was created.
    pub started_at: Moment,
    /// When the run finished.
    pub finished_at: Moment,
    /// Key of the run's thread.
    pub thread_key: Option<String>,
    /// When the request arrived.
    pub received_at: Option<Moment>,
    /// Time at which the event stream was sealed.
    pub sealed_at: Option<Moment>,
    /// Whether the reply was delivered.
    pub reply_ok: Option<bool>,
    /// Number of loop steps.
    pub step_count: Option<Number>,
    /// The record's schema version.
    pub schema: Option<Number>,
    /// Number of published events.
    pub event_count: Option<Number>,
    /// Number of stored events.
    pub stored_event_count: Option<Number>,
    /// Whether the two counts differ.
    pub truncated: Option<bool>,
    /// Friction analysis, unless the list has none.
    pub diagnosis: Option<Value>,
    /// The record's size in bytes.
    pub bytes: Option<Number>,
    /// The run's activity, as the channel shows it.
    pub activity: Option<String>,
    /// Link to the request.
    pub source_url: Option<String>,
    /// The user's name, if known.
    pub user_name: Option<String>,
    /// Run cost, see [`COST`](crate::COST).
    pub cost_micro_usd: Option<u64>,
    /// Reflection cost, see [`REFLECTION_COST`](crate::REFLECTION_COST).
    pub reflection_micro_usd: Option<u64>,
    /// Abridging cost, see [`ABRIDGE_COST`](crate::ABRIDGE_COST).
    pub abridge_micro_usd: Option<u64>,
    /// Pull request fact, see [`PULL_REQUEST`](crate::PULL_REQUEST).
    pub pull_request: Option<Value>,
    /// Posted review fact, see [`POSTED_REVIEW`](crate::POSTED_REVIEW).
    pub posted_review: Option<Value>,
    /// Budget reservation, see [`RESERVED_COST`](crate::RESERVED_COST).
    pub held_micro_usd: Option<u64>,
    /// Untrusted sources, see [`TAINT`](crate::TAINT).
    pub taint: Option<Value>,
}
