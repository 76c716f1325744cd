//! The model: plain maps, and one method per request that says what it must be answered and what it leaves behind.
//!
//! Written from the specification, never from the store, so that the two check each other. Where the specification
//! is silent the method says what was decided.

mod flush;
mod history;
mod owner;
mod rules;
mod takeover;
mod transcript;
mod visitor;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::expected::Expected;
use super::operation::Operation;
use super::payload::{Claim, Name, Writer, state_json};

use transcript::Transcript;

/// What an answer is, or why there is none: the early return of a request's method.
type Answer = Result<Expected, Expected>;

/// One run store and the transcripts beside it.
#[derive(Debug, Clone, Default)]
pub struct Model {
    live: BTreeMap<Name, Row>,
    /// Of finished and live runs alike (section 9.2), by seq.
    events: BTreeMap<Name, BTreeMap<i64, Value>>,
    finished: BTreeMap<Name, Finished>,
    transcripts: BTreeMap<Name, Transcript>,
}

/// A live run (section 9.2) with what hangs on it and goes with it.
#[derive(Debug, Clone)]
struct Row {
    thread: Name,
    owner: Name,
    lease_until: i64,
    phase: Phase,
    stop: Option<Name>,
    state: Value,
    /// What never changes.
    claim: Claim,
    /// By step number.
    steps: BTreeMap<i64, (i64, Value)>,
    /// Message `n` has seq `n + 1`.
    inbox: Vec<Value>,
}

/// Document 2 section 3.3.
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
    /// What `operation` must be answered at `now`; the model is then as the store must be.
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
            Operation::Reclaim { generation, lease_ms, now: asked } => {
                self.reclaim(generation, *lease_ms, asked.unwrap_or(now))
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

    /// The row, if `writer` owns it. Time does not matter: an owner past its lease still owns (section 9.4).
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

    /// As it travels (section 9.2).
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
