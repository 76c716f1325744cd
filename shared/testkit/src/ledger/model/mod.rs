//! The model: plain maps, and one method per request that returns the required answer and updates the state.
//!
//! Derived from the contract, never from the store, so that the two check each other. Where the contract leaves a
//! choice, the method documents the decision.

mod flush;
mod history;
mod owner;
mod reclaim;
mod rules;
mod transcript;
mod unfenced;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::expected::Expected;
use super::operation::Operation;
use super::payload::{Claim, Name, Writer, state_json};

use transcript::Transcript;

/// The required answer. The error is the early return of a request's method.
type Answer = Result<Expected, Expected>;

/// One run store and its transcripts.
#[derive(Debug, Clone, Default)]
pub struct Model {
    live: BTreeMap<Name, Row>,
    /// Events of finished and live runs, by seq.
    events: BTreeMap<Name, BTreeMap<i64, Value>>,
    finished: BTreeMap<Name, Finished>,
    transcripts: BTreeMap<Name, Transcript>,
}

/// A live run with its dependent rows.
#[derive(Debug, Clone)]
struct Row {
    thread: Name,
    owner: Name,
    lease_until: i64,
    phase: Phase,
    stop: Option<Name>,
    state: Value,
    /// The immutable part.
    claim: Claim,
    /// By step number.
    steps: BTreeMap<i64, (i64, Value)>,
    /// Message `n` has seq `n + 1`.
    inbox: Vec<Value>,
}

/// Phase of a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Live,
    Handoff,
    Finishing,
}

impl Phase {
    const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Handoff => "handoff",
            Self::Finishing => "finishing",
        }
    }
}

/// A finished run, without its events.
#[derive(Debug, Clone)]
struct Finished {
    item: Value,
    finished_at: i64,
    event_count: usize,
    bytes: usize,
}

impl Model {
    /// Applies `operation` at `now` and returns its required answer.
    pub fn apply(&mut self, operation: &Operation, now: i64) -> Expected {
        self.answer(operation, now).unwrap_or_else(|refusal| refusal)
    }

    fn answer(&mut self, operation: &Operation, now: i64) -> Answer {
        match operation {
            Operation::Claim(claim) => self.claim(claim, now),
            Operation::Live => Ok(self.live()),
            Operation::Heartbeat { writer, lease_ms } => self.heartbeat(writer, *lease_ms, now),
            Operation::Append { writer, events } => self.append(writer, events),
            Operation::Step { writer, step } => self.step(writer, step),
            Operation::State { writer, state } => self.state(writer, *state),
            Operation::Inbox { run, message } => self.inbox(run, *message),
            Operation::Stop { run, mode } => self.stop(run, mode, now),
            Operation::Handoff { generation, runs } => self.handoff(generation, runs),
            Operation::Finishing { writer } => self.finishing(writer),
            Operation::Finish { writer, record } => self.finish(writer, record, now),
            Operation::Reclaim { generation, lease_ms, now: requested } => {
                self.reclaim(generation, *lease_ms, requested.unwrap_or(now))
            }
            Operation::Flush { generation, lease_ms, runs } => self.flush(generation, *lease_ms, runs, now),
            Operation::LiveEvents { run } => self.live_events(run, now),
            Operation::Put { record } => self.put(record, now),
            Operation::Get { run } => self.get(run, now),
            Operation::Summary { run } => self.summary(run, now),
            Operation::List { limit } => self.list(*limit, now),
            Operation::Events { run, after, limit } => self.events(run, *after, *limit, now),
            Operation::Delete { run } => self.delete(run),
            Operation::TranscriptOwner { writer } => self.transcript_owner(writer),
            Operation::TranscriptWrite { writer, rows, attachments } => {
                self.transcript_write(writer, rows, attachments)
            }
            Operation::TranscriptRead { run } => self.transcript_read(run),
            Operation::TranscriptClear { run } => self.transcript_clear(run),
            Operation::Sweep => {
                self.trim(now);
                Ok(ok())
            }
        }
    }

    /// Returns the row if `writer` owns it. Time does not matter: an owner with an expired lease still owns the run.
    fn owned(&mut self, writer: &Writer) -> Result<&mut Row, Expected> {
        match self.live.get_mut(writer.run) {
            Some(row) if row.owner == writer.generation => Ok(row),
            Some(_) => Err(fenced()),
            None => Err(Expected::refused("unknown-run")),
        }
    }
}

impl Row {
    fn new(claim: &Claim, now: i64) -> Self {
        Self {
            thread: claim.thread,
            owner: claim.writer.generation,
            lease_until: now + claim.lease_ms,
            phase: Phase::Live,
            stop: None,
            // Decided: a run claimed without a state has an empty one.
            state: claim.state.map_or_else(|| json!({}), state_json),
            claim: claim.clone(),
            steps: BTreeMap::new(),
            inbox: Vec::new(),
        }
    }

    /// Returns the wire form.
    fn json(&self) -> Value {
        json!({
            "runId": self.claim.writer.run, "threadKey": self.thread, "ownerGen": self.owner,
            "leaseUntil": self.lease_until, "startedAt": self.claim.started_at, "phase": self.phase.word(),
            "stop": self.stop, "meta": self.claim.meta(), "card": self.claim.card_json(),
            "system": self.claim.system(), "tools": self.claim.tools(), "state": self.state,
        })
    }
}

fn ok() -> Expected {
    Expected::ok(json!({ "ok": true }))
}

fn fenced() -> Expected {
    Expected::refused("fenced")
}
