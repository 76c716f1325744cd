//! A review's decision: the run's last `submit_verdict`, with remarks.
//!
//! Not here: the tool that submits it (`submit_verdict`), and the line that shows it
//! (`ars-codehost`).

use std::sync::{Mutex, PoisonError};

use ars_codehost::review::{Finding, Verdict};

/// What a review remarks on single lines and threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Findings on single lines.
    pub findings: Vec<Finding>,
    /// Ids of the service's threads with a verified fix.
    pub fixed: Vec<String>,
}

/// Holds a review run's verdict. The last wins.
#[derive(Debug, Default)]
pub struct VerdictSlot(Mutex<Option<(Verdict, Remarks)>>);

impl VerdictSlot {
    /// Replaces verdict and remarks.
    pub fn submit(&self, verdict: Verdict, remarks: Remarks) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((verdict, remarks));
    }

    /// Removes the verdict, because the review begins anew.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the current verdict.
    pub fn current(&self) -> Option<Verdict> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|(verdict, _)| verdict.clone())
    }

    /// Returns the current verdict's remarks.
    pub fn remarks(&self) -> Remarks {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current
            .as_ref()
            .map(|(_, remarks)| remarks.clone())
            .unwrap_or_default()
    }
}
