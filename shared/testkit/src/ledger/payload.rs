//! Request payloads, small enough to read in a failing case, and their JSON.
//!
//! Values may be invalid on purpose. The model decides which field is rejected.

use serde_json::{Value, json};

/// Names a run, thread or generation.
pub type Name = &'static str;

/// A run, and the generation that writes as its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Writer {
    /// Id of the run.
    pub run: Name,
    /// Generation that writes as owner.
    pub generation: Name,
}

/// The `run` in a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The run and the claimant.
    pub writer: Writer,
    /// Key of the thread.
    pub thread: Name,
    /// The field `leaseMs`, in milliseconds.
    pub lease_ms: i64,
    /// The field `startedAt`, in milliseconds.
    pub started_at: i64,
    /// `meta.agent`, which conflicts report.
    pub agent: Option<Name>,
    /// Whether it has a card.
    pub card: bool,
    /// Identifies the state. `None` means that no state is sent.
    pub state: Option<u8>,
}

impl Claim {
    /// Returns `run` as JSON.
    pub fn json(&self) -> Value {
        let mut run = json!({
            "runId": self.writer.run, "threadKey": self.thread, "gen": self.writer.generation,
            "leaseMs": self.lease_ms, "startedAt": self.started_at,
            "meta": self.meta(), "system": self.system(), "tools": self.tools(),
        });
        if self.card {
            run["card"] = self.card_json();
        }
        if let Some(state) = self.state {
            run["state"] = state_json(state);
        }
        run
    }

    /// Returns `meta` as JSON, with a key that the Worker does not know.
    pub fn meta(&self) -> Value {
        let mut meta = json!({ "channelId": "C1", "of": { "a": ["later", null, 1.5] } });
        if let Some(agent) = self.agent {
            meta["agent"] = json!(agent);
        }
        meta
    }

    /// Returns `card` as JSON.
    pub fn card_json(&self) -> Value {
        if self.card {
            json!({ "channel": "C1", "ts": "1.5" })
        } else {
            Value::Null
        }
    }

    /// Returns the system prompt. It is empty for a run without a specification.
    pub fn system(&self) -> &'static str {
        if self.agent.is_some() {
            "Be “brief”.\n"
        } else {
            ""
        }
    }

    /// Returns `tools` as JSON.
    pub fn tools(&self) -> Value {
        json!([{ "name": "bash" }])
    }
}

/// Returns a dispatcher state as JSON.
pub fn state_json(note: u8) -> Value {
    json!({ "note": note, "finalStatus": "completed" })
}

/// A run event. In a record, seq 0 means that there is no `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The field `seq` on the wire.
    pub seq: i64,
    /// What the event contains.
    pub kind: EventKind,
}

/// An [`Event`]'s kind.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A text that distinguishes events with the same seq.
    Text(u8),
    /// Has no `type`: stored, but skipped by readers.
    Untyped,
    /// Has exactly this many JSON bytes.
    Bytes(usize),
}

impl Event {
    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        let mut event = match self.kind {
            EventKind::Text(note) => json!({ "type": "text", "text": format!("№ {note}") }),
            EventKind::Untyped => json!({ "text": "of no type" }),
            EventKind::Bytes(_) => json!({ "type": "text", "text": "" }),
        };
        if self.seq != 0 {
            event["seq"] = json!(self.seq);
        }
        if let EventKind::Bytes(bytes) = self.kind {
            event["text"] = json!("x".repeat(bytes.saturating_sub(event.to_string().len())));
        }
        event
    }

    /// Returns whether readers see it.
    pub fn is_typed(&self) -> bool {
        self.kind != EventKind::Untyped
    }
}

/// The part of a flush about a single run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFlush {
    /// Id of the run.
    pub run: Name,
    /// Events to append to the run.
    pub events: Vec<Event>,
    /// The field `inboxAfter`, a follow-up cursor.
    pub after: i64,
}

impl RunFlush {
    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        let events: Vec<_> = self.events.iter().map(Event::json).collect();
        json!({ "runId": self.run, "events": events, "inboxAfter": self.after })
    }
}

/// A step record to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Number of the step.
    pub step: i64,
    /// The field `inboxConsumedSeq` on the wire.
    pub consumed: i64,
    /// Number of calls in flight.
    pub in_flight: u8,
}

impl Step {
    /// Returns the value as JSON, with a key that the Worker does not know.
    pub fn json(&self) -> Value {
        let calls: Vec<_> = (0..self.in_flight)
            .map(|call| json!({ "callId": format!("c{call}"), "tool": "bash" }))
            .collect();
        json!({
            "step": self.step, "seq": 4, "turnIndex": 2, "inFlight": calls, "inboxConsumedSeq": self.consumed,
            "remainingMs": 60_000, "turn": 1, "iteration": 1, "ofALaterVersion": true,
        })
    }
}

/// A run record to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Id of the run.
    pub id: Name,
    /// The field `finishedAt`, in milliseconds.
    pub finished_at: i64,
    /// The field `status` on the wire.
    pub status: Name,
    /// Distinguishes labels and, by length, record sizes.
    pub note: u8,
    /// The field `events` on the wire.
    pub events: Vec<Event>,
}

impl Record {
    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id, "label": "x".repeat(self.note.into()), "channelId": "C1", "userId": "U1",
            "threadKey": "t:C1:1", "channelVisibility": "machine", "startedAt": 5, "finishedAt": self.finished_at,
            "status": self.status, "eventCount": self.events.len(), "storedEventCount": self.events.len(),
            "truncated": false, "events": self.events.iter().map(Event::json).collect::<Vec<_>>(),
            "diagnosis": { "findings": [], "eventCount": 0, "verdict": "fine", "byCategory": {} },
        })
    }
}

/// A transcript row to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The field `idx` on the wire.
    pub idx: i64,
    /// The field `part` on the wire.
    pub part: i64,
    /// Distinguishes row contents by number.
    pub note: u8,
}

impl Part {
    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        json!({ "idx": self.idx, "part": self.part, "json": json!({ "role": "user", "part": self.note }).to_string() })
    }
}

/// Returns a transcript attachment as JSON.
pub fn attachment_json(note: u8) -> Value {
    // Few refs, so that some are sent again with other data.
    json!({ "ref": format!("t{}p0", note % 3), "mediaType": "image/png", "data": format!("data {note}") })
}
