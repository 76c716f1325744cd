//! Health bodies (document 1 section 4.3, state-worker supplement section 1.6).

use ars_types::Generation;
use serde::{Deserialize, Serialize};

/// `GET /healthz` of both the bot and the Workers.
pub const ROUTE: &str = "/healthz";

/// What the state Worker serves.
pub const STATE_FEATURES: [&str; 4] = ["memory", "friction", "schedules", "runs"];

/// What the state Worker can do, in the order of its health body (state-worker supplement 1.6 names four; a
/// feature is listed when its routes are served).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHealth {
    /// Always true: the Worker answered.
    pub ok: bool,
    /// Served features.
    pub features: Vec<String>,
}

impl StateHealth {
    /// Of a Worker that answers.
    pub fn up() -> Self {
        Self { ok: true, features: STATE_FEATURES.map(str::to_owned).to_vec() }
    }
}

/// The bot's health.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BotHealth {
    /// Always true: the process answered.
    pub ok: bool,
    /// Dispatches from their first line, plus pending post-run work.
    pub in_flight: u64,
    /// The process is shutting down.
    pub draining: bool,
    /// How long a drain may take, in milliseconds.
    pub drain_deadline_ms: u64,
    /// What was built.
    pub build: Build,
    /// The chat socket.
    pub slack: Chat,
    /// The process.
    pub process: Process,
    /// ISO time of the process's start.
    pub started_at: String,
    /// ISO time of the drain's start, while draining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_started_at: Option<String>,
    /// The process's generation, when the run ledger is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
}

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Commit, or `unknown`.
    pub commit: String,
    /// ISO time of the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_at: Option<String>,
}

/// The chat socket's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// The handshake is done.
    pub connected: bool,
}

/// The process's own figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// Resident memory, MiB.
    pub rss_mb: f64,
    /// Heap in use, MiB.
    pub heap_used_mb: f64,
    /// 99th percentile of the executor's lag since the previous poll, milliseconds.
    pub event_loop_lag_p99_ms: f64,
}
