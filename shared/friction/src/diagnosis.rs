//! The diagnosis object (docs/reference/friction.md#diagnosis).

use serde::{Deserialize, Serialize};

use crate::intervals::Interval;

/// Names what slowed a run down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A successful tool call was slow.
    SlowTool,
    /// A model turn was slow.
    SlowModelTurn,
    /// A tool call failed.
    FailedTool,
    /// A failed call was repeated.
    Retry,
    /// A command installed or cloned.
    SetupInstall,
    /// The run was asked to wrap up.
    WrapUp,
    /// A budget ended the run.
    BudgetHit,
    /// The sandbox or transport failed.
    InfraFailure,
}

impl Category {
    /// All categories, in the order that breaks ties in the verdict.
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

    /// Returns whether the time is a share of tool time instead of run time.
    pub const fn is_tool_type(self) -> bool {
        matches!(
            self,
            Self::SlowTool | Self::FailedTool | Self::Retry | Self::SetupInstall
        )
    }

    /// Returns the name on the wire.
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

    /// Returns the description for the verdict.
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

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The finding is worth knowing.
    Low,
    /// The finding is worth checking.
    Medium,
    /// The finding is worth fixing.
    High,
}

/// A single cause for lost time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What kind of friction it is.
    pub category: Category,
    /// How severe the finding is.
    pub severity: Severity,
    /// Description for people, in a line.
    pub summary: String,
    /// Index of the anchoring event.
    pub event_index: usize,
    /// The tool, if the finding concerns any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Duration in milliseconds, if timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Interval, if the finding is timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// Sums up a single category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// Number of findings in the category.
    pub count: u64,
    /// Lost time in milliseconds.
    pub duration_ms: i64,
}

/// Sums for all categories, zero if empty.
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
    /// Returns a category's sum.
    pub const fn for_category(&self, category: Category) -> &Total {
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

/// Diagnoses a single run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// Number of events without narrative, side facts and spans.
    pub event_count: u64,
    /// Number of tool calls made.
    pub tool_calls: u64,
    /// Events carry times. Untimed streams have no slow findings.
    pub has_timings: bool,
    /// Length of the window if known, else from the first to the last timed content event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<i64>,
    /// Time in tools, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_time_ms: Option<i64>,
    /// Time in model turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_time_ms: Option<i64>,
    /// Sums for each category.
    pub by_category: Totals,
    /// Findings in stream order.
    pub findings: Vec<Finding>,
    /// The verdict in a line.
    pub verdict: String,
    /// The stream misses events, so findings may be missing or wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated_input: bool,
    /// Breaks down an ended run's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// Breaks down an ended run's time. The other seven terms sum to the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shape {
    /// From receipt, else start, to the end.
    pub window_ms: i64,
    /// Time before the agent started.
    pub getting_ready_ms: i64,
    /// Time in model turns.
    pub thinking_ms: i64,
    /// Time in tool calls.
    pub tools_ms: i64,
    /// Time after the agent ended.
    pub finishing_up_ms: i64,
    /// Recorded time outside all counted spans.
    pub overhead_ms: i64,
    /// Time that lost events cover.
    pub not_recorded_ms: i64,
    /// Time covered by events that exist but were not passed in.
    pub not_loaded_ms: i64,
}
