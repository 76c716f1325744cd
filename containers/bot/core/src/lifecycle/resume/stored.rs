//! A run's stored events.
//!
//! A process may die after it stored a step and before the first flush. Then the stream's head is
//! in the run's state, with the seqs that viewers saw. Not here: events behind the head that were
//! never flushed, which are lost (docs/decisions/0011).

use ars_agent::resume::RunState;
use ars_wire::ledger::Reclaimed;
use serde_json::Value;

/// The answer event's type.
const ANSWER: &str = "answer";

/// A run's stored events.
pub(super) struct Stored {
    /// Sorted by their seqs.
    pub(super) events: Vec<Value>,
    /// Seq of the last event that the ledger has as such.
    pub(super) flushed: u64,
    /// Minimum number of published events, if they cannot all be read.
    pub(super) at_least: u64,
}

impl Stored {
    /// Joins a run's ledger events with the events behind them that only the state has.
    pub(super) fn new(run: &Reclaimed, mut events: Vec<Value>) -> Self {
        let flushed = events.iter().filter_map(seq).max().unwrap_or_default();
        let head = RunState::of_row(&run.row.state).head.unwrap_or_default();
        events.extend(head.into_iter().filter(|event| seq(event) > Some(flushed)));
        Self {
            events,
            flushed,
            at_least: 0,
        }
    }

    /// The known part of a run without readable events.
    pub(super) fn without_events(run: &Reclaimed) -> Self {
        let at_least = run.last_step.as_ref().map_or(0, |step| step.seq);
        Self {
            at_least,
            ..Self::new(run, Vec::new())
        }
    }

    /// Returns the run's published answer, which immediately precedes the reply.
    pub(super) fn answer(&self) -> Option<&str> {
        self.events
            .iter()
            .rev()
            .find(|event| event["type"] == ANSWER)?["text"]
            .as_str()
    }
}

fn seq(event: &Value) -> Option<u64> {
    event["seq"].as_u64()
}
