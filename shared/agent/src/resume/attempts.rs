//! How often a run was resumed without getting on.
//!
//! What is counted is progress, not evictions: a run may be moved any number of times as long as its step number grows.
//! A handoff is an eviction in good order and counts for nothing; a lapsed lease is a process that may have died of
//! this very step. The count travels in the run's state, `"resume": { "step", "attempts" }`; the new owner stores it
//! before it resumes, and every later write of the state keeps it. Not here: writing it.

use ars_wire::ledger::Phase;
use serde::{Deserialize, Serialize};

/// How often a run may be resumed at one step after its lease lapsed.
pub const MAX_ATTEMPTS: u32 = 5;

/// Resumes at one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// The step.
    pub step: u64,
    /// How many, the one decided on included.
    pub attempts: u32,
}

impl Attempts {
    /// The count with one more resume, at `step`, of a run reclaimed from `phase`.
    pub(super) fn after(before: Option<Self>, step: u64, phase: Phase) -> Self {
        let before = before.filter(|before| before.step == step).map_or(0, |before| before.attempts);
        let counted = match phase {
            Phase::Live | Phase::Finishing => 1,
            Phase::Handoff => 0,
        };
        Self { step, attempts: before.saturating_add(counted) }
    }

    /// The run may not be resumed any more.
    pub(super) fn is_too_many(self) -> bool {
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
