//! A coding run's tests and builds: the pull request's evidence.
//!
//! Not here: adding a command to it (`evidence_calls`), and the text that shows it
//! (`ars_codehost`).

use std::sync::{Mutex, PoisonError};

use ars_codehost::{
    diff::Commit,
    pull_request::{Check, CheckResult},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum number of last tests and builds to keep.
const MAX_KEPT_CHECKS: usize = 20;
/// Exit code when a timeout killed the command.
const TIMED_OUT: i32 = 124;

/// A run's tests and builds.
#[derive(Debug, Default)]
pub struct EvidenceLog(Mutex<Vec<StoredCheck>>);

/// A test or build, as the run's state stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredCheck {
    pub(super) name: String,
    pub(super) command: String,
    /// The tree's commit, if it had no other changes.
    pub(super) head: Option<String>,
    pub(super) exit_code: i32,
    /// The end of a failed command's output.
    pub(super) output: String,
}

impl EvidenceLog {
    /// Restores the log from the run's state. An unreadable log is empty.
    pub fn of_state(state: Option<&Value>) -> Self {
        let kept = state
            .and_then(|state| Vec::deserialize(state).ok())
            .unwrap_or_default();
        Self(Mutex::new(kept))
    }

    /// Returns the log for the run's state.
    pub fn to_state(&self) -> Option<Value> {
        serde_json::to_value(&*self.0.lock().unwrap_or_else(PoisonError::into_inner)).ok()
    }

    /// Adds a test or build. Above the limit drops the oldest.
    pub(super) fn push(&self, check: StoredCheck) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT_CHECKS {
            kept.remove(0);
        }
        kept.push(check);
    }

    /// Returns the tests and builds in order.
    pub fn checks(&self) -> Vec<Check> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let check = |one: &StoredCheck| Check {
            name: one.name.clone(),
            command: one.command.clone(),
            head: one.head.as_deref().and_then(Commit::parse),
            result: match one.exit_code {
                0 => CheckResult::Passed,
                TIMED_OUT => CheckResult::Unfinished,
                _ => CheckResult::Failed {
                    output: one.output.clone(),
                },
            },
        };
        kept.iter().map(check).collect()
    }
}
