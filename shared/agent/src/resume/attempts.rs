//! How often a run was resumed without getting on.
//!
//! What is counted is progress, not evictions: a run may be moved any number of times as long as its step number grows.
//! A handoff is an eviction in good order and counts for nothing; a lapsed lease is a process that may have died of
//! this very step. The count travels in the run's state, `"resume": { "step", "attempts" }`; the new owner stores it
//! before it resumes, and every later write of the state keeps it. Not here: writing it.

use ars_wire::ledger::Phase;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How often a run may be resumed at one step after its lease lapsed.
pub const MAX_ATTEMPTS: u32 = 5;
/// Its field in the state.
const FIELD: &str = "resume";

/// Resumes at one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// The step.
    pub step: u64,
    /// How many, the one decided on included.
    pub attempts: u32,
}

impl Attempts {
    /// The count with one more resume, at `step`, of a run taken from `phase`.
    pub(super) fn after(state: &Map<String, Value>, step: u64, phase: Phase) -> Self {
        let before = match Self::of(state) {
            Some(stored) if stored.step == step => stored.attempts,
            Some(_) | None => 0,
        };
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

    /// What a state holds; nothing when it was never resumed, or by a version that counts otherwise.
    pub fn of(state: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(state.get(FIELD)?).ok()
    }

    /// Puts the count into a state.
    pub fn store(self, state: &mut Map<String, Value>) {
        let count = Map::from_iter([
            ("step".to_owned(), Value::from(self.step)),
            ("attempts".to_owned(), Value::from(self.attempts)),
        ]);
        state.insert(FIELD.to_owned(), Value::Object(count));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(state: &mut Map<String, Value>, step: u64, phase: Phase) -> u32 {
        let attempts = Attempts::after(state, step, phase);
        attempts.store(state);
        attempts.attempts
    }

    #[test]
    fn only_lapsed_leases_at_one_step_add_up() {
        let mut state = Map::from_iter([("other".to_owned(), json!(1))]);
        assert_eq!(count(&mut state, 3, Phase::Live), 1);
        assert_eq!(count(&mut state, 3, Phase::Handoff), 1);
        assert_eq!(count(&mut state, 3, Phase::Live), 2);
        assert_eq!(count(&mut state, 4, Phase::Live), 1);
        assert_eq!(Value::Object(state), json!({ "other": 1, "resume": { "step": 4, "attempts": 1 } }));
    }

    #[test]
    fn the_fifth_attempt_is_the_last() {
        let mut state = Map::new();
        let verdicts: Vec<_> = (0..6)
            .map(|_| {
                count(&mut state, 3, Phase::Live);
                Attempts::of(&state).unwrap().is_too_many()
            })
            .collect();
        assert_eq!(verdicts, [false, false, false, false, false, true]);
    }

    #[test]
    fn a_count_of_another_shape_counts_as_none() {
        for broken in [json!(null), json!(3), json!({ "step": "x" }), json!({ "step": 3, "attempts": -1 })] {
            let state = Map::from_iter([(FIELD.to_owned(), broken)]);
            assert_eq!(Attempts::after(&state, 3, Phase::Live), Attempts { step: 3, attempts: 1 });
        }
    }
}
