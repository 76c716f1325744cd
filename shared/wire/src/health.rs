//! Health bodies.

use ars_types::{Cgroup, Generation, SandboxKind, SandboxNetwork};
use serde::{Deserialize, Serialize};

/// `GET /healthz` of both the bot and the Workers.
pub const ROUTE: &str = "/healthz";

/// The features of the state Worker.
pub const STATE_FEATURES: [&str; 4] = ["memory", "friction", "schedules", "runs"];

/// The state Worker's health. A feature is listed once its routes are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHealth {
    /// Always true: the Worker answered.
    pub ok: bool,
    /// Served features.
    pub features: Vec<String>,
}

impl StateHealth {
    /// Returns the body of a running Worker.
    pub fn up() -> Self {
        Self {
            ok: true,
            features: STATE_FEATURES.map(str::to_owned).to_vec(),
        }
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
    /// Deadline of a drain in milliseconds.
    pub drain_deadline_ms: u64,
    /// The build.
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
    /// The process's generation, if the run ledger is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The sandbox of commands. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxKind>,
    /// The network of commands. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    /// The control groups of runs. Absent where no command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Cgroup>,
}

/// The build of the process.
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

/// Figures of the process.
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
