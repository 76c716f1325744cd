//! The file's tables, and its strict parser.

use std::{collections::BTreeMap, path::Path};

use ars_types::{Effort, ModelRef};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{dashboard, grants, history::RunHistory, memory::Memory, providers, scopes, spending};
use crate::error::ConfigError;

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Owner of shared memory.
    pub organization: Option<String>,
    /// Providers by name.
    pub providers: BTreeMap<String, providers::Provider>,
    /// Defaults of requests.
    pub defaults: Defaults,
    /// Budgets by agent.
    pub agents: BTreeMap<String, AgentBudget>,
    /// Limits of the costs of runs.
    pub money: spending::Money,
    /// Prices of models, by `provider/model`.
    pub prices: BTreeMap<String, spending::PriceEntry>,
    /// Context windows of models in tokens, by `provider/model`.
    pub windows: BTreeMap<String, u64>,
    /// Repositories a request may name.
    pub repositories: Vec<RepositoryEntry>,
    /// Permissions of requests.
    pub requests: Requests,
    /// Settings of single channels, by id.
    pub channels: BTreeMap<String, scopes::Entry>,
    /// Settings of single users, by actor id.
    pub users: BTreeMap<String, scopes::Entry>,
    /// Grants added to actors.
    pub grants: BTreeMap<String, grants::Entry>,
    /// Agents and repositories that need a grant.
    pub restrict: grants::Restrict,
    /// Memory across runs.
    pub memory: Memory,
    /// Where telemetry goes.
    pub telemetry: ars_bot_telemetry::Settings,
    /// The spans in the log.
    pub tracing: ars_bot_telemetry::Tracing,
    /// Viewers of the run pages.
    pub dashboard: dashboard::Dashboard,
    /// Run records.
    pub run_history: RunHistory,
}

/// `[defaults]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// Agent.
    pub agent: Option<String>,
    /// Model of every agent without its own.
    pub model: Option<ModelRef>,
    /// Fallback for a model that stays overloaded.
    pub fallback_model: Option<ModelRef>,
    /// Model by agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Effort by agent.
    pub efforts: BTreeMap<String, Effort>,
    /// External MCP servers of every request, by name.
    pub mcp_servers: Map<String, Value>,
    /// Repository of a coding request that names none.
    pub repository: Option<String>,
}

/// `[agents.<name>]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentBudget {
    /// Model turns.
    pub turns: Option<u32>,
    /// Minutes.
    pub minutes: Option<u32>,
}

/// `[[repositories]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryEntry {
    /// Name in requests.
    pub name: String,
    /// Path or URL for git.
    pub origin: String,
}

/// `[requests]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requests {
    /// Prefixes of paths and URLs that requests may name directly.
    pub allow_origins: Vec<String>,
}

/// Reads and validates a file.
pub fn load(path: &Path) -> Result<File, ConfigError> {
    parse(&std::fs::read_to_string(path).map_err(ConfigError::Unreadable)?)
}

/// Validates a text.
pub fn parse(text: &str) -> Result<File, ConfigError> {
    toml::from_str(text).map_err(|error| malformed(text, &error))
}

fn malformed(text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text[..start].matches('\n').count() + 1;
    let source = text.lines().nth(line - 1).unwrap_or_default();
    // Within a list or a long text, the characters before a `=` may be the beginning of a secret.
    let is_key = |key: &&str| key.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c));
    let key = source.split_once('=').map(|(key, _)| key.trim()).filter(is_key);
    let key = key.map(|key| format!(", `{key}`")).unwrap_or_default();
    ConfigError::Malformed { line, key, problem: without_values(error.message()) }
}

/// Removes the offending value, which serde quotes before the expected form. Field names are not values.
fn without_values(message: &str) -> String {
    if message.starts_with("unknown field") || message.starts_with("missing field") {
        return ars_events::redact(message).into_owned();
    }
    match message.split_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => message.to_owned(),
    }
}
