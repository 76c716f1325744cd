//! What a review decided: the last `submit_verdict` of its run (bot supplement sections 15 and 17).
//!
//! Not here: the tool that hands it over (`tools::submit_verdict`) and the line that tells it (`first_line`).

use std::sync::{Mutex, PoisonError};

/// A review's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Which way.
    pub decision: Decision,
    /// Why, in the reviewer's words.
    pub summary: String,
    /// The commit the reviewer says it reviewed; absent when it named none that could be one.
    pub head: Option<String>,
}

/// Which way a review went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The change may go in.
    Approve,
    /// It may not, as it stands.
    RequestChanges,
}

impl Decision {
    /// Every word `parse` takes.
    pub const WORDS: [&'static str; 2] = ["approve", "request_changes"];

    /// Reads the word of a call.
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
    /// Takes a verdict in the place of an earlier one.
    pub fn submit(&self, verdict: Verdict) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }

    /// The verdict so far.
    pub fn current(&self) -> Option<Verdict> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
