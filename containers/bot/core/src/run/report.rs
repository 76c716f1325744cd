//! How driving a run ended.

use std::collections::BTreeSet;

use ars_agent::{RunOutcome, Turn};
use ars_types::RunStatus;

use crate::threads::FollowUp;

/// How driving a run ended.
pub struct DriverReport {
    /// Why the driver stopped.
    pub exit: DriverExit,
    /// The model's own answer, if it differs from the outcome's.
    pub raw_answer: Option<String>,
    /// Number of answered model calls.
    pub steps: u32,
    /// Cost in micro-dollars; `None` if a call had no known price.
    pub cost: Option<u64>,
    /// The conversation, as last shown to the model.
    pub turns: Vec<Turn>,
    /// Names of the called tools, including those that earlier processes called.
    pub tools: BTreeSet<String>,
    /// Number of tool calls in this process.
    pub tool_calls: u32,
    /// Follow-ups that the driver took from the mailbox and the model did not see. Empty for a run
    /// that is handed off: the stored step holds them.
    pub unread: Vec<FollowUp>,
}

/// Why a driver stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum DriverExit {
    /// The run is over.
    Ended(RunOutcome),
    /// The run is stored for another process to resume.
    HandedOff,
    /// Another process owns the run.
    Fenced,
}

/// Reports a run that failed before the first model call.
pub fn not_begun(answer: String) -> DriverReport {
    DriverReport {
        exit: ended(RunStatus::Failed, answer),
        raw_answer: None,
        steps: 0,
        cost: Some(0),
        turns: Vec::new(),
        tools: BTreeSet::new(),
        tool_calls: 0,
        unread: Vec::new(),
    }
}

/// Exits a run that is cut short with this answer.
pub fn ended(status: RunStatus, answer: String) -> DriverExit {
    DriverExit::Ended(RunOutcome {
        status,
        cut_short: true,
        answer: Some(answer),
    })
}
