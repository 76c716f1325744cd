//! What requests carry, small enough to be read in a failing case, and the JSON it stands for.
//!
//! Values may break their rules on purpose: what is refused, and for which field, is the model's to say.

use serde_json::{Value, json};

/// A run, a thread or a generation.
pub type Name = &'static str;

/// Who writes: a run, and the generation that takes itself for its owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Writer {
    /// The run.
    pub run: Name,
    /// The generation.
    pub generation: Name,
}

/// A claim's `run`.
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
    /// `meta.agent`, which conflicts show.
    pub agent: Option<Name>,
    /// Whether there is a card.
    pub card: bool,
    /// Tells states apart; none is sent without.
    pub state: Option<u8>,
}

impl Claim {
    /// The JSON of `run`.
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

    /// The JSON of `meta`: with a key the Worker does not know.
    pub fn meta(&self) -> Value {
        let mut meta = json!({ "channelId": "C1", "of": { "a": ["later", null, 1.5] } });
        if let Some(agent) = self.agent {
            meta["agent"] = json!(agent);
        }
        meta
    }

    /// The JSON of `card`.
    pub fn card_json(&self) -> Value {
        if self.card { json!({ "channel": "C1", "ts": "1.5" }) } else { Value::Null }
    }

    /// The system prompt: empty for a run without a specification.
    pub fn system(&self) -> &'static str {
        if self.agent.is_some() { "Be “brief”.\n" } else { "" }
    }

    /// The JSON of `tools`.
    pub fn tools(&self) -> Value {
        json!([{ "name": "bash" }])
    }
}

/// The JSON of a dispatcher state.
pub fn state_json(note: u8) -> Value {
    json!({ "note": note, "finalStatus": "completed" })
}

/// A run event. In a record, 0 stands for no `seq` at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its `seq`.
    pub seq: i64,
    /// What it is.
    pub kind: EventKind,
}

/// What an [`Event`] is.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// One that tells itself from others of the same seq.
    Text(u8),
    /// One that has no `type`: stored, and skipped by readers.
    Untyped,
    /// One of exactly so many bytes of JSON.
    Bytes(usize),
}

impl Event {
    /// Its JSON.
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

    /// Whether readers see it.
    pub fn is_typed(&self) -> bool {
        self.kind != EventKind::Untyped
    }
}

/// What a flush carries of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// The run.
    pub run: Name,
    /// Its events.
    pub events: Vec<Event>,
    /// `inboxAfter`.
    pub after: i64,
}

impl News {
    /// Its JSON.
    pub fn json(&self) -> Value {
        let events: Vec<_> = self.events.iter().map(Event::json).collect();
        json!({ "runId": self.run, "events": events, "inboxAfter": self.after })
    }
}

/// A step record.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number.
    pub step: i64,
    /// `inboxConsumedSeq`.
    pub consumed: i64,
    /// Calls in flight.
    pub in_flight: u8,
}

impl Step {
    /// Its JSON, with a key the Worker does not know.
    pub fn json(&self) -> Value {
        let calls: Vec<_> =
            (0..self.in_flight).map(|call| json!({ "callId": format!("c{call}"), "tool": "bash" })).collect();
        json!({
            "step": self.step, "seq": 4, "turnIndex": 2, "inFlight": calls, "inboxConsumedSeq": self.consumed,
            "remainingMs": 60_000, "turn": 1, "iteration": 1, "ofALaterVersion": true,
        })
    }
}

/// A run record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The run.
    pub id: Name,
    /// `finishedAt`.
    pub finished_at: i64,
    /// `status`.
    pub status: Name,
    /// Tells labels, and by their length record sizes, apart.
    pub note: u8,
    /// `events`.
    pub events: Vec<Event>,
}

impl Record {
    /// Its JSON.
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
    /// Tells contents apart.
    pub note: u8,
}

impl Part {
    /// Its JSON.
    pub fn json(&self) -> Value {
        json!({ "idx": self.idx, "part": self.part, "json": json!({ "role": "user", "part": self.note }).to_string() })
    }
}

/// The JSON of a transcript attachment.
pub fn attachment_json(note: u8) -> Value {
    // Few refs, so that some are sent again with other data.
    json!({ "ref": format!("t{}p0", note % 3), "mediaType": "image/png", "data": format!("data {note}") })
}
