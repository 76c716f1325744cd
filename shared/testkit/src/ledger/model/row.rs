//! A live and a finished run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::ledger::payload::{Claim, Name, state_json};

/// A live run with the dependent rows.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) thread: Name,
    pub(super) owner: Name,
    pub(super) lease_until: i64,
    pub(super) phase: Phase,
    pub(super) stop: Option<Name>,
    pub(super) state: Value,
    /// The part that never changes.
    pub(super) claim: Claim,
    /// Steps by their number.
    pub(super) steps: BTreeMap<i64, (i64, Value)>,
    /// Message `n` has seq `n + 1`.
    pub(super) inbox: Vec<Value>,
}

/// A live run's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Live,
    Handoff,
    Finishing,
}

impl Phase {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Handoff => "handoff",
            Self::Finishing => "finishing",
        }
    }
}

/// A finished run, without its events.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    pub(super) item: Value,
    pub(super) finished_at: i64,
    pub(super) event_count: usize,
    pub(super) bytes: usize,
}

impl Row {
    pub(super) fn new(claim: &Claim, now: i64) -> Self {
        Self {
            thread: claim.thread,
            owner: claim.writer.generation,
            lease_until: now + claim.lease_ms,
            phase: Phase::Live,
            stop: None,
            // Decided: a run claimed without a state has an empty state.
            state: claim.state.map_or_else(|| json!({}), state_json),
            claim: claim.clone(),
            steps: BTreeMap::new(),
            inbox: Vec::new(),
        }
    }

    /// Returns the wire form.
    pub(super) fn json(&self) -> Value {
        json!({
            "runId": self.claim.writer.run, "threadKey": self.thread, "ownerGen": self.owner,
            "leaseUntil": self.lease_until, "startedAt": self.claim.started_at, "phase": self.phase.word(),
            "stop": self.stop, "meta": self.claim.meta(), "card": self.claim.card_json(),
            "system": self.claim.system(), "tools": self.claim.tools(), "state": self.state,
        })
    }
}
