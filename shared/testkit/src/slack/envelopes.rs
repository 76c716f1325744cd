//! Envelopes of Socket Mode: sent to one connection each, acknowledged, and sent again.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// How often Slack repeats an event that was not acknowledged.
const RETRIES_MAX: u32 = 3;

/// An envelope with its fate.
#[derive(Debug, Clone)]
pub struct FakeEnvelope {
    /// The envelope's id.
    pub id: String,
    /// `events_api` or `interactive`.
    pub kind: &'static str,
    /// Content, which for events has the event as `event`.
    pub payload: Value,
    /// How often it was sent; zero if there was no connection.
    pub attempts: u32,
    /// Connections that received it.
    pub connections: Vec<u64>,
    /// The acknowledgement's payload, null without any; absent until it arrives.
    pub acked: Option<Value>,
}

impl FakeEnvelope {
    /// Returns the type of the event, or of the interaction.
    pub fn event_type(&self) -> &str {
        let event = &self.payload["event"]["type"];
        event
            .as_str()
            .or_else(|| self.payload["type"].as_str())
            .unwrap_or_default()
    }
}

/// Why Slack asks a client to connect anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// The connection ends soon, and still serves.
    Warning,
    /// The connection ends now.
    RefreshRequested,
}

/// An order for a connection's task.
#[derive(Debug)]
pub(super) enum Frame {
    Text(String),
    Ping,
    /// Sends a close frame and ends.
    Close,
    /// Ends without a close frame.
    Abort,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: u64,
    pub(super) frames: mpsc::UnboundedSender<Frame>,
    /// No envelopes go to it.
    pub(super) is_ending: bool,
}

/// The connections of the app, and everything sent to them.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    pub(super) tickets: BTreeSet<String>,
    pub(super) open: Vec<Connection>,
    pub(super) envelopes: Vec<FakeEnvelope>,
    /// Pongs that answered pings.
    pub(super) pongs: usize,
    /// Time after which an envelope without acknowledgement is sent again.
    pub(super) retry_after: Option<Duration>,
    /// Connections so far, closed ones included.
    pub(super) opened: u64,
    /// Envelopes sent so far, which alternates the connections.
    sent: usize,
}

impl Sockets {
    /// Adds an envelope and sends it. Without a connection it is stored only.
    pub(super) fn push(&mut self, id: &str, kind: &'static str, payload: Value) {
        self.envelopes.push(FakeEnvelope {
            id: id.to_owned(),
            kind,
            payload,
            attempts: 0,
            connections: Vec::new(),
            acked: None,
        });
        self.send(id, "");
    }

    /// Sends an envelope to the next connection, again if it was sent before.
    pub(super) fn send(&mut self, id: &str, reason: &str) {
        let serving: Vec<&Connection> = self.open.iter().filter(|one| !one.is_ending).collect();
        let envelope = self.envelopes.iter_mut().find(|one| one.id == id);
        let envelope = envelope.expect("the envelope exists");
        if serving.is_empty() {
            return;
        }
        let connection = serving[self.sent % serving.len()];
        let mut frame = json!({
            "envelope_id": envelope.id, "type": envelope.kind, "payload": envelope.payload,
            "accepts_response_payload": envelope.kind != "events_api",
        });
        if envelope.kind == "events_api" {
            frame["retry_attempt"] = envelope.attempts.into();
            frame["retry_reason"] = reason.into();
        }
        // A connection that just ended loses it, as on a real network.
        let _ = connection.frames.send(Frame::Text(frame.to_string()));
        envelope.attempts += 1;
        envelope.connections.push(connection.id);
        self.sent += 1;
    }

    /// Sends an envelope again if it is due: not acknowledged, and not given up.
    pub(super) fn retry(&mut self, id: &str) -> bool {
        let is_due = |one: &FakeEnvelope| {
            one.id == id
                && one.kind == "events_api"
                && one.acked.is_none()
                && one.attempts <= RETRIES_MAX
        };
        let due = self.envelopes.iter().any(is_due);
        if due {
            self.send(id, "timeout");
        }
        due
    }

    /// Stores an acknowledgement. Returns whether the envelope is known.
    pub(super) fn acknowledge(&mut self, frame: &Value) -> bool {
        let id = frame["envelope_id"].as_str().unwrap_or_default();
        let found = self.envelopes.iter_mut().find(|one| one.id == id);
        if let Some(envelope) = found {
            envelope.acked = Some(frame["payload"].clone());
            return true;
        }
        false
    }

    /// Sends a frame to every connection.
    pub(super) fn broadcast(&self, frame: impl Fn() -> Frame) {
        for connection in &self.open {
            // It may have ended.
            let _ = connection.frames.send(frame());
        }
    }
}
