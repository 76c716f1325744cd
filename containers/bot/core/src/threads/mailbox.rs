//! Follow-ups waiting for the live run of a thread (bot supplement section 13).
//!
//! A mailbox takes messages until its run has ended; closing it hands back, in one step, what nobody read. So a
//! message is read by the run, or handed back, or refused because the run is over: never lost between. Not here: the
//! durable copy (the ledger's inbox), which tells the next generation what this one had not read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{message::IncomingMessage, ports::ChannelIo};

/// One follow-up.
#[derive(Clone)]
pub struct FollowUp {
    /// What is said.
    pub note: Note,
    /// Its number in the ledger's inbox, when it was left there.
    pub inbox_seq: Option<u64>,
    /// Its sender, when the message came through this process.
    pub sender: Option<Sender>,
}

/// What the ledger's inbox keeps of a follow-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The text, without its directives.
    pub text: String,
    /// Who sent it.
    pub user_id: String,
    /// When it was accepted; 0 when unknown.
    #[serde(default)]
    pub received_at: UnixMillis,
}

impl Note {
    /// As the inbox keeps it.
    pub fn message(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(message)) => message,
            // Two texts and a number always have a JSON form.
            _ => Map::new(),
        }
    }

    /// What an inbox kept; nothing of a message without text.
    pub fn read(message: Map<String, Value>) -> Option<Self> {
        serde_json::from_value(Value::Object(message)).ok()
    }
}

/// Where a follow-up came from.
#[derive(Clone)]
pub struct Sender {
    /// The message as it came.
    pub message: IncomingMessage,
    /// The way back.
    pub io: Arc<dyn ChannelIo>,
}

/// A run's mailbox. Cheap to clone.
#[derive(Clone, Default)]
pub struct Mailbox {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    closed: Option<Closed>,
    waiting: Vec<FollowUp>,
    /// Numbers taken in, so that a follow-up that comes a second way is not said twice.
    last_inbox_seq: u64,
}

/// Why a mailbox takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The run is over.
    Ended,
    /// The run goes on in another process, which reads the ledger's inbox.
    HandedOff,
}

impl Mailbox {
    /// Takes a follow-up in; one that is here already, by its number, changes nothing.
    pub fn put(&self, follow_up: FollowUp) -> Result<(), Closed> {
        let mut state = self.lock();
        if let Some(closed) = state.closed {
            return Err(closed);
        }
        if let Some(seq) = follow_up.inbox_seq {
            if let Some(known) = state.waiting.iter_mut().find(|waiting| waiting.inbox_seq == Some(seq)) {
                // The ledger told of it before its sender's request came back: now its sender is known too.
                known.sender = known.sender.take().or(follow_up.sender);
                return Ok(());
            }
            if seq <= state.last_inbox_seq {
                return Ok(());
            }
            state.last_inbox_seq = seq;
        }
        state.waiting.push(follow_up);
        Ok(())
    }

    /// What waits, in order of arrival.
    pub fn take(&self) -> Vec<FollowUp> {
        std::mem::take(&mut self.lock().waiting)
    }

    /// The last number taken in; the ledger is asked for what comes after it.
    pub fn last_inbox_seq(&self) -> u64 {
        self.lock().last_inbox_seq
    }

    /// Takes nothing more; hands back what waits.
    pub fn close(&self, why: Closed) -> Vec<FollowUp> {
        let mut state = self.lock();
        state.closed.get_or_insert(why);
        std::mem::take(&mut state.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str, inbox_seq: Option<u64>) -> FollowUp {
        let note = Note { text: text.into(), user_id: "http:a".into(), received_at: 1 };
        FollowUp { note, inbox_seq, sender: None }
    }

    fn texts(follow_ups: Vec<FollowUp>) -> Vec<String> {
        follow_ups.into_iter().map(|follow_up| follow_up.note.text).collect()
    }

    #[test]
    fn what_is_put_is_taken_once_and_in_order() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", None)).unwrap();
        mailbox.put(note("b", Some(1))).unwrap();
        assert_eq!(texts(mailbox.take()), ["a", "b"]);
        assert!(mailbox.take().is_empty());
    }

    #[test]
    fn a_follow_up_that_comes_two_ways_is_said_once() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", Some(1))).unwrap();
        mailbox.put(note("a", Some(1))).unwrap();
        assert_eq!(texts(mailbox.take()), ["a"]);
        // Read already: the slower way comes too late.
        mailbox.put(note("a", Some(1))).unwrap();
        assert!(mailbox.take().is_empty());
        assert_eq!(mailbox.last_inbox_seq(), 1);
    }

    #[test]
    fn a_closed_mailbox_hands_back_what_waits_and_takes_nothing_more() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", None)).unwrap();
        assert_eq!(texts(mailbox.close(Closed::Ended)), ["a"]);
        assert_eq!(mailbox.put(note("b", None)), Err(Closed::Ended));
        assert!(mailbox.close(Closed::HandedOff).is_empty());
        assert_eq!(mailbox.put(note("c", None)), Err(Closed::Ended));
    }
}
