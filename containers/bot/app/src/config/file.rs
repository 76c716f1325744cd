//! Tables in the configuration file.
//!
//! Keys are in camelCase; each has a `snake_case` alias. Not here: the parser (`format.rs`).

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
    people, providers,
    review::Review,
    scopes, spending,
};
use crate::surfaces::{github::Webhook, slack::SlackTable};

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct File {
    /// Owner for shared memory.
    pub organization: Option<String>,
    /// Model providers by name.
    pub providers: BTreeMap<String, providers::Provider>,
    /// Defaults for requests.
    pub defaults: Defaults,
    /// Run budgets by agent.
    pub agents: BTreeMap<String, AgentBudget>,
    /// Limits for requests and runs.
    pub limits: limits::Limits,
    /// Cost limits for runs.
    pub money: spending::Money,
    /// Model prices, by `provider/model`.
    pub prices: BTreeMap<String, spending::PriceEntry>,
    /// Model context windows in tokens, by `provider/model`.
    pub windows: BTreeMap<String, u64>,
    /// Repositories a request may name.
    pub repositories: Vec<RepositoryEntry>,
    /// Permissions that requests have.
    pub requests: Requests,
    /// Settings for single channels, by id.
    pub channels: BTreeMap<String, scopes::Entry>,
    /// Settings for single users, by actor id.
    pub users: BTreeMap<String, scopes::Entry>,
    /// Grants added to actors.
    pub grants: BTreeMap<String, grants::Entry>,
    /// Agents and repositories that need a grant.
    pub restrict: grants::Restrict,
    /// People with accounts on several surfaces, by name.
    pub people: BTreeMap<String, people::Entry>,
    /// Memory that lasts across runs.
    pub memory: Memory,
    /// Where schedule firings are recorded.
    pub schedules: Schedules,
    /// Where telemetry goes.
    pub telemetry: ars_bot_telemetry::Settings,
    /// The spans in the log.
    pub tracing: ars_bot_telemetry::Tracing,
    /// How commands are confined.
    pub sandbox: Sandbox,
    /// The hosts that `web_fetch` reaches.
    pub web: super::web::Web,
    /// Where commands run.
    pub execution: Execution,
    /// The working tree folder; in the data directory if absent.
    #[serde(alias = "workspace_dir")]
    pub workspace_dir: Option<PathBuf>,
    /// Who may view the run pages.
    pub dashboard: dashboard::Dashboard,
    /// Reading diffs for reviews.
    pub review: Review,
    /// The form of answers.
    pub output: Output,
    /// Actors for code host logins.
    pub webhook: Webhook,
    /// The chat platform Slack.
    pub slack: SlackTable,
    /// Reports about recurring friction.
    #[serde(alias = "self_improvement")]
    pub self_improvement: SelfImprovement,
    /// How run records are kept.
    #[serde(alias = "run_history")]
    pub run_history: RunHistory,
}

/// Settings in the `[output]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Output {
    /// Models write answers in blocks.
    pub structured: bool,
}

/// Settings in the `[defaults]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Defaults {
    /// Agent for requests that name none.
    pub agent: Option<String>,
    /// Model for every agent without its own.
    pub model: Option<ModelRef>,
    /// Fallback for a model that stays overloaded.
    #[serde(alias = "fallback_model")]
    pub fallback_model: Option<ModelRef>,
    /// Model for each agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Effort for each agent.
    pub efforts: BTreeMap<String, Effort>,
    /// Maximum output tokens in a model call.
    #[serde(alias = "max_tokens")]
    pub max_tokens: Option<u32>,
    /// External MCP servers for every request, by name.
    #[serde(alias = "mcp_servers")]
    pub mcp_servers: Map<String, Value>,
    /// Repository for a coding request that names none.
    pub repository: Option<String>,
}

/// Settings in the `[schedules]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedules {
    /// The Worker for firings, if not the Worker of the run history.
    pub worker: Option<Worker>,
}

/// Settings in the `[sandbox]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Sandbox {
    /// The kind; `auto` by default.
    pub kind: SandboxChoice,
    /// The commands' network.
    pub network: Option<SandboxNetwork>,
    /// The hosts that the proxy allows.
    pub egress: egress::Egress,
    /// Whether commands under Landlock may listen for connections.
    pub listen: bool,
    /// More folders and files that commands may read and execute.
    pub readable: Vec<PathBuf>,
    /// Limits for a run as a whole.
    pub limits: SandboxLimits,
}

/// `[sandbox.limits]`. 0 removes a limit.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SandboxLimits {
    /// Maximum memory of a run's processes in bytes.
    #[serde(alias = "memory_bytes")]
    pub memory_bytes: Option<u64>,
    /// Maximum processes and threads in a run.
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

/// Values for `sandbox.kind`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxChoice {
    /// Bubblewrap where it works, else Landlock.
    #[default]
    Auto,
    /// Confines commands with bubblewrap.
    Bubblewrap,
    /// Confines commands with Landlock.
    Landlock,
    /// No confinement at all.
    None,
}

impl Sandbox {
    /// Returns the workspaces' settings.
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

/// Settings in the `[selfImprovement]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SelfImprovement {
    /// Runs that must share a cause before `friction.report` shows it.
    #[serde(alias = "min_runs")]
    pub min_runs: Option<usize>,
    /// The repository that `friction.propose` files issues in, as `owner/name`.
    pub repo: Option<String>,
    /// Label for the issues.
    pub label: Option<String>,
    /// Maximum issues that a call files.
    pub top: Option<usize>,
}

/// Settings in an `[agents.<name>]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentBudget {
    /// Maximum model turns per run.
    pub turns: Option<u32>,
    /// Maximum minutes per run.
    pub minutes: Option<u32>,
}

/// An entry in `[[repositories]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryEntry {
    /// Name that requests use.
    pub name: String,
    /// Path or URL for git.
    pub origin: String,
}

/// Settings in the `[requests]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Requests {
    /// Path and URL prefixes that requests may name directly.
    #[serde(alias = "allow_origins")]
    pub allow_origins: Vec<String>,
}
