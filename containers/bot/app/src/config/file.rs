//! The file's tables.
//!
//! Keys are in camelCase; each has its `snake_case` spelling as an alias. Not here: the parser (`format.rs`).

use std::{collections::BTreeMap, path::PathBuf};

use ars_bot_adapters::sandbox::{RunLimits, SandboxSettings};
use ars_types::{Effort, ModelRef, SandboxKind, SandboxNetwork};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    ConfigError, dashboard, egress,
    execution::Execution,
    grants,
    history::{RunHistory, Worker},
    limits,
    memory::Memory,
    providers,
    review::Review,
    scopes, spending,
    webhook::Webhook,
};

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct File {
    /// Owner of shared memory.
    pub organization: Option<String>,
    /// Providers by name.
    pub providers: BTreeMap<String, providers::Provider>,
    /// Defaults of requests.
    pub defaults: Defaults,
    /// Budgets by agent.
    pub agents: BTreeMap<String, AgentBudget>,
    /// Limits of requests and runs.
    pub limits: limits::Limits,
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
    /// The record of the firings of schedules.
    pub schedules: Schedules,
    /// Where telemetry goes.
    pub telemetry: ars_bot_telemetry::Settings,
    /// The spans in the log.
    pub tracing: ars_bot_telemetry::Tracing,
    /// The confinement of commands.
    pub sandbox: Sandbox,
    /// The hosts that `web_fetch` reaches.
    pub web: super::web::Web,
    /// Where commands run.
    pub execution: Execution,
    /// The folder of working trees; that of the data directory if absent.
    #[serde(alias = "workspace_dir")]
    pub workspace_dir: Option<PathBuf>,
    /// Viewers of the run pages.
    pub dashboard: dashboard::Dashboard,
    /// Reading diffs of reviews.
    pub review: Review,
    /// Actors of logins of the code host.
    pub webhook: Webhook,
    /// Reports of recurring friction.
    #[serde(alias = "self_improvement")]
    pub self_improvement: SelfImprovement,
    /// Run records.
    #[serde(alias = "run_history")]
    pub run_history: RunHistory,
}

/// `[defaults]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Defaults {
    /// Agent.
    pub agent: Option<String>,
    /// Model of every agent without its own.
    pub model: Option<ModelRef>,
    /// Fallback for a model that stays overloaded.
    #[serde(alias = "fallback_model")]
    pub fallback_model: Option<ModelRef>,
    /// Model by agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Effort by agent.
    pub efforts: BTreeMap<String, Effort>,
    /// Maximum output tokens of a model call.
    #[serde(alias = "max_tokens")]
    pub max_tokens: Option<u32>,
    /// External MCP servers of every request, by name.
    #[serde(alias = "mcp_servers")]
    pub mcp_servers: Map<String, Value>,
    /// Repository of a coding request that names none.
    pub repository: Option<String>,
}

/// `[schedules]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedules {
    /// The Worker of the firings, if it is not the one of the run history.
    pub worker: Option<Worker>,
}

/// `[sandbox]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Sandbox {
    /// The kind; `auto` by default.
    pub kind: SandboxChoice,
    /// The network of commands.
    pub network: Option<SandboxNetwork>,
    /// The hosts that the proxy allows.
    pub egress: egress::Egress,
    /// Whether commands under Landlock may listen for connections.
    pub listen: bool,
    /// More folders and files that commands may read and execute.
    pub readable: Vec<PathBuf>,
    /// The limits of a run as a whole.
    pub limits: SandboxLimits,
}

/// `[sandbox.limits]`. 0 removes a limit.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SandboxLimits {
    /// Bytes of memory of the processes of a run.
    #[serde(alias = "memory_bytes")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads of a run.
    pub processes: Option<u64>,
}

impl SandboxLimits {
    fn settings(self) -> RunLimits {
        let defaults = RunLimits::default();
        let of =
            |set: Option<u64>, default| set.map_or(default, |max| Some(max).filter(|max| *max > 0));
        RunLimits {
            memory_bytes: of(self.memory_bytes, defaults.memory_bytes),
            processes: of(self.processes, defaults.processes),
        }
    }
}

/// `sandbox.kind`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxChoice {
    /// Bubblewrap where it works, else Landlock.
    #[default]
    Auto,
    /// Bubblewrap.
    Bubblewrap,
    /// Landlock.
    Landlock,
    /// No confinement.
    None,
}

impl Sandbox {
    /// Returns the settings of the workspaces.
    pub fn settings(&self) -> Result<SandboxSettings, ConfigError> {
        if self.readable.iter().any(|path| !path.is_absolute()) {
            return Err(ConfigError::invalid(
                "sandbox.readable",
                "must be absolute paths",
            ));
        }
        let kind = match self.kind {
            SandboxChoice::Auto => None,
            SandboxChoice::Bubblewrap => Some(SandboxKind::Bubblewrap),
            SandboxChoice::Landlock => Some(SandboxKind::Landlock),
            SandboxChoice::None => Some(SandboxKind::None),
        };
        let (readable, egress) = (self.readable.clone(), self.egress.settings()?);
        let limits = self.limits.settings();
        Ok(SandboxSettings {
            kind,
            network: self.network,
            readable,
            egress,
            entry: None,
            may_listen: self.listen,
            limits,
        })
    }
}

/// `[selfImprovement]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SelfImprovement {
    /// Runs that must share a cause before `friction.report` shows it.
    #[serde(alias = "min_runs")]
    pub min_runs: Option<usize>,
    /// The repository that `friction.propose` files issues in, as `owner/name`.
    pub repo: Option<String>,
    /// Label of the issues.
    pub label: Option<String>,
    /// Most issues that one call files.
    pub top: Option<usize>,
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
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Requests {
    /// Prefixes of paths and URLs that requests may name directly.
    #[serde(alias = "allow_origins")]
    pub allow_origins: Vec<String>,
}
