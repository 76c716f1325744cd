//! From where on the stored events tell of the step that a run goes on with.
//!
//! The step's record has the last seq before its calls, as its process counted. What that process had not flushed died
//! with it, and whoever goes on counts from behind what was stored: its events of the step may have lower seqs than the
//! record says (docs/decisions/0011). So the run's state keeps the lowest, for whoever goes on after that. Not here:
//! what the events tell (`go_on`).

use ars_wire::ledger::StepRecord;
use serde_json::{Map, Value, json};

/// The field of the run's state.
const FIELD: &str = "stepEvents";

/// The seq behind which the step's events are, kept in the state. The last stored event is `last_seq`.
pub(super) fn of_step(state: &mut Map<String, Value>, record: &StepRecord, last_seq: u64) -> u64 {
    let kept = state.get(FIELD).filter(|kept| kept["step"] == record.step);
    let after = kept.and_then(|kept| kept["after"].as_u64()).unwrap_or(record.seq).min(last_seq);
    state.insert(FIELD.to_owned(), json!({ "step": record.step, "after": after }));
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: u64, seq: u64) -> StepRecord {
        let record = json!({
            "step": step, "seq": seq, "turnIndex": 0, "inFlight": [], "inboxConsumedSeq": 0, "remainingMs": 0,
            "turn": 0, "iteration": 0,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn the_lowest_seq_counts_until_the_run_is_at_another_step() {
        let mut state = Map::new();
        assert_eq!(of_step(&mut state, &at(8, 84), 90), 84);
        assert_eq!(of_step(&mut state, &at(9, 100), 95), 95);
        // What this process told of the step is behind 95, though the record says 100.
        assert_eq!(of_step(&mut state, &at(9, 100), 120), 95);
        assert_eq!(of_step(&mut state, &at(10, 130), 140), 130);
    }
}
