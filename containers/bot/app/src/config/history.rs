//! `runHistory`: retention and store for run records.

use ars_wire::runs::Policy;
use serde::Deserialize;

use super::ConfigError;

/// How run records are kept.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct RunHistory {
    /// A thread's earlier turns are part of the record.
    #[serde(alias = "include_context")]
    pub include_context: bool,
    /// Days to keep records.
    #[serde(alias = "retention_days")]
    pub retention_days: Option<u64>,
    /// Maximum runs to keep.
    #[serde(alias = "max_runs")]
    pub max_runs: Option<u64>,
    /// Maximum bytes to keep.
    #[serde(alias = "max_bytes")]
    pub max_bytes: Option<u64>,
    /// Where records go; the data directory with a ledger if absent.
    pub store: Option<HistoryStore>,
    /// How to reach the state Worker.
    pub worker: Option<Worker>,
}

impl Default for RunHistory {
    fn default() -> Self {
        Self {
            include_context: true,
            retention_days: None,
            max_runs: None,
            max_bytes: None,
            store: None,
            worker: None,
        }
    }
}

/// Where records go, and whether a ledger lets runs outlast their process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryStore {
    /// Nowhere, and there is no ledger: run history is off.
    None,
    /// The data directory, without a ledger.
    File,
    /// The data directory, with a ledger.
    Embedded,
    /// The state Worker, with a ledger.
    Worker,
}

/// How to reach the state Worker.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Worker {
    /// The Worker's base URL.
    #[serde(alias = "base_url")]
    pub base_url: String,
    /// Variable that holds the Worker's bearer.
    #[serde(default, alias = "token_env")]
    pub token_env: Option<String>,
}

impl RunHistory {
    /// Returns the retention to propose to the store; `None` when the file has none.
    pub fn policy(&self) -> Result<Option<Policy>, ConfigError> {
        let fields = [
            ("retentionDays", self.retention_days),
            ("maxRuns", self.max_runs),
            ("maxBytes", self.max_bytes),
        ];
        if let Some((name, _)) = fields.iter().find(|(_, value)| *value == Some(0)) {
            return Err(ConfigError::invalid(
                format!("runHistory.{name}"),
                "must be at least 1",
            ));
        }
        let policy = Policy {
            retention_days: self.retention_days,
            max_runs: self.max_runs,
            max_bytes: self.max_bytes,
        };
        Ok((policy != Policy::default()).then_some(policy))
    }
}
