//! Payloads of requests, small enough to read in a failing case, and their JSON.
//!
//! Values may be invalid on purpose. The model decides which field is rejected.

use serde_json::{Value, json};

/// Name of a run, thread or generation.
pub type Name = &'static str;

/// A run, and the generation that writes as its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Writer {
    /// Run id.
    pub run: Name,
    /// Generation.
    pub generation: Name,
}

/// The `run` of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The run and its claimant.
    pub writer: Writer,
    /// The thread.
    pub thread: Name,
    /// `leaseMs`.
    pub lease_ms: i64,
    /// `startedAt`.
    pub started_at: i64,
    /// `meta.agent`, which conflicts report.
    pub agent: Option<Name>,
    /// Whether it has a card.
    pub card: bool,
    /// Identifies the state. `None` means that no state is sent.
    pub state: Option<u8>,
}

impl Claim {
    /// Returns the JSON of `run`.
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

    /// Returns the JSON of `meta`, with a key that the Worker does not know.
    pub fn meta(&self) -> Value {
        let mut meta = json!({ "channelId": "C1", "of": { "a": ["later", null, 1.5] } });
        if let Some(agent) = self.agent {
            meta["agent"] = json!(agent);
        }
        meta
    }

    /// Returns the JSON of `card`.
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

    /// Returns the JSON of `tools`.
    pub fn tools(&self) -> Value {
        json!([{ "name": "bash" }])
    }
}

/// Returns the JSON of a dispatcher state.
pub fn state_json(note: u8) -> Value {
    json!({ "note": note, "finalStatus": "completed" })
}

/// A run event. In a record, seq 0 means that there is no `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `seq`.
    pub seq: i64,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Kind of an [`Event`].
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A text that distinguishes events of the same seq.
    Text(u8),
    /// Has no `type`: stored, but skipped by readers.
    Untyped,
    /// Has exactly this many bytes of JSON.
    Bytes(usize),
}

impl Event {
    /// Returns its JSON.
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

/// The part of a flush about one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFlush {
    /// Run id.
    pub run: Name,
    /// Events.
    pub events: Vec<Event>,
    /// `inboxAfter`.
    pub after: i64,
}

impl RunFlush {
    /// Returns its JSON.
    pub fn json(&self) -> Value {
        let events: Vec<_> = self.events.iter().map(Event::json).collect();
        json!({ "runId": self.run, "events": events, "inboxAfter": self.after })
    }
}

/// A step record.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Step number.
    pub step: i64,
    /// `inboxConsumedSeq`.
    pub consumed: i64,
    /// Calls in flight.
    pub in_flight: u8,
}

impl Step {
    /// Returns its JSON, with a key that the Worker does not know.
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

/// A run record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Run id.
    pub id: Name,
    /// `finishedAt`.
    pub finished_at: i64,
    /// `status`.
    pub status: Name,
    /// Distinguishes labels and, by its length, record sizes.
    pub note: u8,
    /// `events`.
    pub events: Vec<Event>,
}

impl Record {
    /// Returns its JSON.
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

/// A transcript row.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// `idx`.
    pub idx: i64,
    /// `part`.
    pub part: i64,
    /// Distinguishes contents.
    pub note: u8,
}

impl Part {
    /// Returns its JSON.
    pub fn json(&self) -> Value {
        json!({ "idx": self.idx, "part": self.part, "json": json!({ "role": "user", "part": self.note }).to_string() })
    }
}

/// Returns the JSON of a transcript attachment.
pub fn attachment_json(note: u8) -> Value {
    // Few refs, so that some are sent again with other data.
    json!({ "ref": format!("t{}p0", note % 3), "mediaType": "image/png", "data": format!("data {note}") })
}
