//! A single request: path and body.

use ars_wire::state::{RunVerb, TranscriptVerb, Verb as _};
use serde_json::{Value, json};

use super::payload::{
    Claim, Event, Name, Part, Record, RunFlush, Step, Writer, attachment_json, state_json,
};

/// Store key in a sequence, unless its subject replaces it.
const STORE: &str = "runs:default";

/// A single request, or the store's sweep.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "each is the route of its name, and each field the body's"
)]
pub enum Operation {
    Claim(Claim),
    Live,
    Heartbeat {
        writer: Writer,
        lease_ms: i64,
    },
    Append {
        writer: Writer,
        events: Vec<Event>,
    },
    Step {
        writer: Writer,
        step: Step,
    },
    State {
        writer: Writer,
        state: u8,
    },
    Inbox {
        run: Name,
        message: u8,
    },
    Stop {
        run: Name,
        mode: Name,
    },
    Handoff {
        generation: Name,
        runs: Vec<Name>,
    },
    Finishing {
        writer: Writer,
    },
    Finish {
        writer: Writer,
        record: Record,
    },
    Reclaim {
        generation: Name,
        lease_ms: i64,
        now: Option<i64>,
    },
    LiveEvents {
        run: Name,
    },
    Flush {
        generation: Name,
        lease_ms: Option<i64>,
        runs: Vec<RunFlush>,
    },
    Put {
        record: Record,
    },
    Get {
        run: Name,
    },
    Summary {
        run: Name,
    },
    List {
        limit: Option<i64>,
    },
    Events {
        run: Name,
        after: i64,
        limit: i64,
    },
    Delete {
        run: Name,
    },
    TranscriptOwner {
        writer: Writer,
    },
    TranscriptWrite {
        writer: Writer,
        rows: Vec<Part>,
        attachments: Vec<u8>,
    },
    TranscriptRead {
        run: Name,
    },
    TranscriptClear {
        run: Name,
        /// Absent for a run that ended.
        generation: Option<Name>,
    },
    /// The periodic sweep by the store's shell, which is not a request.
    Sweep,
}

impl Operation {
    /// Returns the request's path, or `None` for the sweep.
    pub fn path(&self) -> Option<&'static str> {
        let run = match self {
            Self::Claim(_) => RunVerb::Claim,
            Self::Live => RunVerb::Live,
            Self::Heartbeat { .. } => RunVerb::Heartbeat,
            Self::Append { .. } => RunVerb::Append,
            Self::Step { .. } => RunVerb::Step,
            Self::State { .. } => RunVerb::State,
            Self::Inbox { .. } => RunVerb::Inbox,
            Self::Stop { .. } => RunVerb::Stop,
            Self::Handoff { .. } => RunVerb::Handoff,
            Self::Finishing { .. } => RunVerb::Finishing,
            Self::Finish { .. } => RunVerb::Finish,
            Self::Reclaim { .. } => RunVerb::Reclaim,
            Self::LiveEvents { .. } => RunVerb::LiveEvents,
            Self::Flush { .. } => RunVerb::Flush,
            Self::Put { .. } => RunVerb::Put,
            Self::Get { .. } => RunVerb::Get,
            Self::Summary { .. } => RunVerb::Summary,
            Self::List { .. } => RunVerb::List,
            Self::Events { .. } => RunVerb::Events,
            Self::Delete { .. } => RunVerb::Delete,
            Self::TranscriptOwner { .. } => return Some(TranscriptVerb::Owner.path()),
            Self::TranscriptWrite { .. } => return Some(TranscriptVerb::Write.path()),
            Self::TranscriptRead { .. } => return Some(TranscriptVerb::Read.path()),
            Self::TranscriptClear { .. } => return Some(TranscriptVerb::Clear.path()),
            Self::Sweep => return None,
        };
        Some(run.path())
    }

    /// Returns the request's body.
    pub fn body(&self) -> Value {
        let mut body = self.fields();
        body["storeKey"] = json!(STORE);
        body
    }

    fn fields(&self) -> Value {
        match self {
            Self::Claim(claim) => json!({ "run": claim.json() }),
            Self::Heartbeat { writer, lease_ms } => owned(writer, "leaseMs", json!(lease_ms)),
            Self::Append { writer, events } => {
                owned(writer, "events", events.iter().map(Event::json).collect())
            }
            Self::Step { writer, step } => owned(writer, "record", step.json()),
            Self::State { writer, state } => owned(writer, "state", state_json(*state)),
            Self::Inbox { run, message } => {
                json!({ "runId": run, "message": message_json(*message) })
            }
            Self::Stop { run, mode } => json!({ "runId": run, "mode": mode }),
            Self::Handoff { generation, runs } => json!({ "gen": generation, "runIds": runs }),
            Self::Finishing { writer } | Self::TranscriptOwner { writer } => {
                json!({ "runId": writer.run, "gen": writer.generation })
            }
            Self::Finish { writer, record } => owned(writer, "record", record.json()),
            Self::Reclaim {
                generation,
                lease_ms,
                now: Some(now),
            } => {
                json!({ "gen": generation, "leaseMs": lease_ms, "now": now })
            }
            Self::Reclaim {
                generation,
                lease_ms,
                now: None,
            } => {
                json!({ "gen": generation, "leaseMs": lease_ms })
            }
            Self::LiveEvents { run }
            | Self::TranscriptRead { run }
            | Self::TranscriptClear {
                run,
                generation: None,
            } => json!({ "runId": run }),
            Self::TranscriptClear {
                run,
                generation: Some(generation),
            } => {
                json!({ "runId": run, "gen": generation })
            }
            Self::Flush {
                generation,
                lease_ms,
                runs,
            } => {
                let mut body = json!({ "gen": generation, "runs": runs.iter().map(RunFlush::json).collect::<Vec<_>>() });
                if let Some(lease_ms) = lease_ms {
                    body["leaseMs"] = json!(lease_ms);
                }
                body
            }
            Self::Put { record } => json!({ "record": record.json() }),
            Self::Get { run } | Self::Summary { run } | Self::Delete { run } => {
                json!({ "id": run })
            }
            Self::List { limit: Some(limit) } => json!({ "limit": limit }),
            Self::Events { run, after, limit } => {
                json!({ "id": run, "afterSeq": after, "limit": limit })
            }
            Self::TranscriptWrite {
                writer,
                rows,
                attachments,
            } => {
                let mut body = owned(writer, "rows", rows.iter().map(Part::json).collect());
                body["attachments"] = attachments.iter().copied().map(attachment_json).collect();
                body
            }
            Self::Live | Self::List { limit: None } | Self::Sweep => json!({}),
        }
    }
}

/// Returns a follow-up as JSON.
pub(super) fn message_json(note: u8) -> Value {
    json!({ "text": format!("and {note}?") })
}

fn owned(writer: &Writer, field: &str, value: Value) -> Value {
    let mut body = json!({ "runId": writer.run, "gen": writer.generation });
    body[field] = value;
    body
}
