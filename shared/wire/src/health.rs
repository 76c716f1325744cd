//! Health bodies.

use ars_types::{Cgroup, Generation, SandboxKind, SandboxNetwork};
use serde::{Deserialize, Serialize};

/// `GET /healthz` on both the bot and the Workers.
pub const ROUTE: &str = "/healthz";

/// Features that the state Worker has.
pub const STATE_FEATURES: [&str; 4] = ["memory", "friction", "schedules", "runs"];

/// The state Worker's health. A feature is listed once its routes are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHealth {
    /// Always true: the Worker answered.
    pub ok: bool,
    /// Features that are served.
    pub features: Vec<String>,
}

impl StateHealth {
    /// Returns a running Worker's body.
    pub fn up() -> Self {
        Self {
            ok: true,
            features: STATE_FEATURES.map(str::to_owned).to_vec(),
        }
    }
}

/// How healthy the bot is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BotHealth {
    /// Always true: the process answered.
    pub ok: bool,
    /// Dispatches from their first line, plus pending post-run work.
    pub in_flight: u64,
    /// The process is shutting down.
    pub draining: bool,
    /// A drain's deadline in milliseconds.
    pub drain_deadline_ms: u64,
    /// Build of the process.
    pub build: Build,
    /// State of the chat socket.
    pub slack: Chat,
    /// Figures about the process.
    pub process: Process,
    /// When the process started, as ISO time.
    pub started_at: String,
    /// The last catch-up of chat messages, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUp>,
    /// When the drain started, as ISO time, while draining.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_started_at: Option<String>,
    /// The process's generation, if the run ledger is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The sandbox for commands. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxKind>,
    /// The commands' network. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    /// The runs' control groups. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Cgroup>,
}

/// The build that the process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Build {
    /// Commit, or `unknown` without any.
    pub commit: String,
    /// When it was built, as ISO time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_at: Option<String>,
}

/// The chat socket's state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// The handshake is done.
    pub connected: bool,
    /// When the present connection was made, as ISO time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Connections that this process has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<u64>,
}

/// A chat surface's part of the health body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatStatus {
    /// State of the socket.
    pub chat: Chat,
    /// The last catch-up.
    pub catch_up: Option<CatchUp>,
}

/// A search for missed chat messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatchUp {
    /// When it began, as ISO time.
    pub last_run_at: String,
    /// Channels that the bot is a member of.
    pub channels: u64,
    /// Messages that were served late.
    pub missed: u64,
    /// Channels that could not be read.
    pub skipped_channels: u64,
    /// The first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Scopes that the token lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_scopes: Option<Vec<String>>,
}

/// Process figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// Resident memory in MiB.
    pub rss_mb: f64,
    /// Heap in use, MiB.
    pub heap_used_mb: f64,
    /// 99th percentile of the executor's lag since the previous poll, milliseconds.
    pub event_loop_lag_p99_ms: f64,
}
