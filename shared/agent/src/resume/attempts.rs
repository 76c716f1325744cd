//! Counts resumes without progress.
//!
//! A run may move any number of times as long as the step number grows. A handoff does not count.
//! An expired lease does, because the process may have died from this very step. The count is
//! stored in the run's state before the run resumes. Not here: storing it.

use ars_wire::ledger::Phase;
use serde::{Deserialize, Serialize};

/// Maximum resumes at a single step after expired leases.
pub const MAX_ATTEMPTS: u32 = 5;

/// Counts the resumes at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// The step at which the run resumed.
    pub step: u64,
    /// How many resumes, including the current one.
    pub attempts: u32,
}

impl Attempts {
    /// A run that left the queue and has not stored a step.
    pub const STARTED: Self = Self {
        step: 0,
        attempts: 0,
    };

    /// Counts another start for a run without a stored step, reclaimed from `phase`.
    pub fn restarted(self, phase: Phase) -> Self {
        Self::after(Some(self), Self::STARTED.step, phase)
    }

    /// Counts another resume, at `step`, for a run reclaimed from `phase`.
    pub(super) fn after(before: Option<Self>, step: u64, phase: Phase) -> Self {
        let before = before
            .filter(|before| before.step == step)
            .map_or(0, |before| before.attempts);
        let counted = match phase {
            Phase::Live | Phase::Finishing => 1,
            Phase::Handoff => 0,
        };
        Self {
            step,
            attempts: before.saturating_add(counted),
        }
    }

    /// Whether the run may no longer be resumed.
    pub fn is_too_many(self) -> bool {
        self.attempts > MAX_ATTEMPTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expired_leases_at_one_step_add_up() {
        let mut before = None;
        let mut count = |step, phase| {
            let attempts = Attempts::after(before, step, phase);
            before = Some(attempts);
            attempts.attempts
        };
        assert_eq!(count(3, Phase::Live), 1);
        assert_eq!(count(3, Phase::Handoff), 1);
        assert_eq!(count(3, Phase::Live), 2);
        assert_eq!(count(4, Phase::Live), 1);
    }

    #[test]
    fn fifth_attempt_is_the_last() {
        let is_too_many = |attempts| Attempts { step: 3, attempts }.is_too_many();
        assert_eq!([1, 5, 6].map(is_too_many), [false, false, true]);
    }
}
