//! The decision of a review: the last `submit_verdict` of its run.
//!
//! Not here: the tool that submits it (`submit_verdict`) and the line that shows it (`first_line`).

use std::sync::{Mutex, PoisonError};

/// A review's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The direction of the decision.
    pub decision: Decision,
    /// The reason, in the reviewer's words.
    pub summary: String,
    /// The reviewed commit according to the reviewer, or `None` without a valid one.
    pub head: Option<String>,
}

/// The direction of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The change is approved.
    Approve,
    /// The change must be revised.
    RequestChanges,
}

impl Decision {
    /// Every word `parse` accepts.
    pub const WORDS: [&'static str; 2] = ["approve", "request_changes"];

    /// Parses the word of a call.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "approve" => Some(Self::Approve),
            "request_changes" => Some(Self::RequestChanges),
            _ => None,
        }
    }
}

/// Holds the verdict of one review run. The last one wins.
#[derive(Debug, Default)]
pub struct VerdictSlot(Mutex<Option<Verdict>>);

impl VerdictSlot {
    /// Replaces the verdict.
    pub fn submit(&self, verdict: Verdict) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }

    /// Returns the current verdict.
    pub fn current(&self) -> Option<Verdict> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
