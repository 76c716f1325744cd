//! The decision of a review: the last `submit_verdict` of its run.
//!
//! Not here: the tool that submits it (`submit_verdict`), and the line that shows it (`ars-codehost`).

use std::sync::{Mutex, PoisonError};

use ars_codehost::review::Verdict;

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
