//! What is stored of a run's stream.
//!
//! A process may die after it stored a step and before its first flush. What the run was asked is in its state then, with
//! the seqs that viewers saw (`live::tracked`). Not here: events after the head that were never flushed, which are gone
//! (docs/decisions/0011).

use ars_wire::ledger::Reclaimed;
use serde_json::Value;

use crate::live::HEAD;

/// The type of the event that tells a run's answer.
const ANSWER: &str = "answer";

/// A run's events so far.
pub(super) struct Stored {
    /// All, in order of their seqs.
    pub(super) events: Vec<Value>,
    /// The last one that the ledger has as an event.
    pub(super) flushed: u64,
    /// So many there were at least, although they are not all here.
    pub(super) at_least: u64,
}

impl Stored {
    /// The ledger's events of a run, and behind them what only its state has.
    pub(super) fn of(run: &Reclaimed, mut events: Vec<Value>) -> Self {
        let flushed = events.iter().filter_map(seq).max().unwrap_or_default();
        let head = run.row.state.get(HEAD).and_then(Value::as_array).into_iter().flatten();
        events.extend(head.filter(|event| seq(event) > Some(flushed)).cloned());
        Self { events, flushed, at_least: 0 }
    }

    /// What there is of a run whose events cannot be read.
    pub(super) fn without_events(run: &Reclaimed) -> Self {
        let at_least = run.last_step.as_ref().map_or(0, |step| step.seq);
        Self { at_least, ..Self::of(run, Vec::new()) }
    }

    /// Whether the run had come to its answer, which it tells right before it replies.
    pub(super) fn has_answer(&self) -> bool {
        self.events.iter().any(|event| event["type"] == ANSWER)
    }
}

fn seq(event: &Value) -> Option<u64> {
    event["seq"].as_u64()
}
