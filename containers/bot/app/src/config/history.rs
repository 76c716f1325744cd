//! `[run_history]`: retention and store of run records.

use ars_wire::runs::Policy;
use serde::Deserialize;

use super::ConfigError;

/// Run records.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunHistory {
    /// Earlier turns of a thread are part of the record.
    pub include_context: bool,
    /// Days kept.
    pub retention_days: Option<u64>,
    /// Runs kept.
    pub max_runs: Option<u64>,
    /// Bytes kept.
    pub max_bytes: Option<u64>,
    /// Where records go.
    pub store: Option<HistoryStore>,
    /// The state Worker.
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

/// Where records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryStore {
    /// The data directory.
    File,
    /// The state Worker.
    Worker,
}

/// The state Worker.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// Its address.
    pub base_url: String,
    /// The variable that holds its bearer.
    #[serde(default)]
    pub token_env: Option<String>,
}

impl RunHistory {
    /// Returns the retention to propose to the store; `None` when the file has none.
    pub fn policy(&self) -> Result<Option<Policy>, ConfigError> {
        let fields = [
            ("retention_days", self.retention_days),
            ("max_runs", self.max_runs),
            ("max_bytes", self.max_bytes),
        ];
        if let Some((name, _)) = fields.iter().find(|(_, value)| *value == Some(0)) {
            return Err(ConfigError::invalid(format!("run_history.{name}"), "must be at least 1"));
        }
        let policy = Policy {
            retention_days: self.retention_days,
            max_runs: self.max_runs,
            max_bytes: self.max_bytes,
        };
        Ok((policy != Policy::default()).then_some(policy))
    }
}
