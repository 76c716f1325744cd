//! The diagnosis object (state-worker supplement section 8.2).

use serde::{Deserialize, Serialize};

use crate::intervals::Interval;

/// What kind of friction a finding is; each has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A tool took long and succeeded.
    SlowTool,
    /// A model turn took long.
    SlowModelTurn,
    /// A tool failed.
    FailedTool,
    /// A call that had failed was issued again.
    Retry,
    /// Time went into installing or cloning.
    SetupInstall,
    /// The run was told to wrap up.
    WrapUp,
    /// A budget ended the run.
    BudgetHit,
    /// The sandbox or transport failed.
    InfraFailure,
}

impl Category {
    /// Every category, in the order that breaks ties of the verdict.
    pub const ALL: [Self; 8] = [
        Self::SlowTool,
        Self::SlowModelTurn,
        Self::FailedTool,
        Self::Retry,
        Self::SetupInstall,
        Self::WrapUp,
        Self::BudgetHit,
        Self::InfraFailure,
    ];

    /// Whether its time is a share of tool time; the others' is a share of the whole run.
    pub const fn is_tool_type(self) -> bool {
        matches!(self, Self::SlowTool | Self::FailedTool | Self::Retry | Self::SetupInstall)
    }

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SlowTool => "slow_tool",
            Self::SlowModelTurn => "slow_model_turn",
            Self::FailedTool => "failed_tool",
            Self::Retry => "retry",
            Self::SetupInstall => "setup_install",
            Self::WrapUp => "wrap_up",
            Self::BudgetHit => "budget_hit",
            Self::InfraFailure => "infra_failure",
        }
    }

    /// In words, for the verdict.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::SlowTool => "slow tools",
            Self::SlowModelTurn => "slow model turns",
            Self::FailedTool => "failed tools",
            Self::Retry => "retries",
            Self::SetupInstall => "set-up and installs",
            Self::WrapUp => "wrapping up",
            Self::BudgetHit => "budgets used up",
            Self::InfraFailure => "infrastructure failures",
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth a look.
    Medium,
    /// Worth fixing.
    High,
}

/// One thing that slowed the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What kind.
    pub category: Category,
    /// How much it matters.
    pub severity: Severity,
    /// In words.
    pub summary: String,
    /// The event it is anchored at, as an index into the stream.
    pub event_index: usize,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How long it took, when timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// When, when timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// One category's sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// Findings.
    pub count: u64,
    /// Their time, in milliseconds.
    pub duration_ms: i64,
}

/// Every category's sum, zeroed when empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the categories")]
pub struct Totals {
    pub slow_tool: Total,
    pub slow_model_turn: Total,
    pub failed_tool: Total,
    pub retry: Total,
    pub setup_install: Total,
    pub wrap_up: Total,
    pub budget_hit: Total,
    pub infra_failure: Total,
}

impl Totals {
    /// One category's sum.
    pub const fn of(&self, category: Category) -> &Total {
        match category {
            Category::SlowTool => &self.slow_tool,
            Category::SlowModelTurn => &self.slow_model_turn,
            Category::FailedTool => &self.failed_tool,
            Category::Retry => &self.retry,
            Category::SetupInstall => &self.setup_install,
            Category::WrapUp => &self.wrap_up,
            Category::BudgetHit => &self.budget_hit,
            Category::InfraFailure => &self.infra_failure,
        }
    }

    pub(crate) const fn of_mut(&mut self, category: Category) -> &mut Total {
        match category {
            Category::SlowTool => &mut self.slow_tool,
            Category::SlowModelTurn => &mut self.slow_model_turn,
            Category::FailedTool => &mut self.failed_tool,
            Category::Retry => &mut self.retry,
            Category::SetupInstall => &mut self.setup_install,
            Category::WrapUp => &mut self.wrap_up,
            Category::BudgetHit => &mut self.budget_hit,
            Category::InfraFailure => &mut self.infra_failure,
        }
    }
}

/// What slowed a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// Events minus narrative, side facts and spans.
    pub event_count: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Whether events carry times; without them nothing is ever found slow.
    pub has_timings: bool,
    /// The window when that is known, else from the first to the last timed content event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<i64>,
    /// Time in tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_time_ms: Option<i64>,
    /// Time in model turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_time_ms: Option<i64>,
    /// Sums.
    pub by_category: Totals,
    /// Findings in stream order.
    pub findings: Vec<Finding>,
    /// One line.
    pub verdict: String,
    /// The stream was known to miss events: findings may be missing too, or be mistaken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated_input: bool,
    /// Where a finished run's time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// Where a finished run's time went (section 8.3). The other seven terms sum to the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shape {
    /// Received (else started) to finished.
    pub window_ms: i64,
    /// Before the agent began.
    pub getting_ready_ms: i64,
    /// Model turns.
    pub thinking_ms: i64,
    /// Tools.
    pub tools_ms: i64,
    /// After the agent ended.
    pub finishing_up_ms: i64,
    /// Seen, and none of the above.
    pub overhead_ms: i64,
    /// Nobody has the events of this time any more.
    pub not_recorded_ms: i64,
    /// The events of this time exist and were not given.
    pub not_loaded_ms: i64,
}
