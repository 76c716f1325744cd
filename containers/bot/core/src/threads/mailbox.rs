//! Follow-ups waiting for the live run of a thread (bot supplement section 13).
//!
//! A mailbox takes messages until its run has ended; closing it hands back, in one step, what nobody read. So a
//! message is read by the run, or handed back, or refused because the run is over: never lost between. Not here: the
//! durable copy (the ledger's inbox), which tells the next generation what this one had not read.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

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
    /// Every number up to this one was taken in, so that a follow-up that comes a second way is not said twice.
    known_to: u64,
    /// Numbers beyond it that were: those between came through other processes, and the ledger has yet to tell of them.
    known_beyond: BTreeSet<u64>,
}

impl State {
    fn is_known(&self, seq: u64) -> bool {
        seq <= self.known_to || self.known_beyond.contains(&seq)
    }

    fn know(&mut self, seq: u64) {
        self.known_beyond.insert(seq);
        while self.known_beyond.remove(&(self.known_to + 1)) {
            self.known_to += 1;
        }
    }
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
    /// Takes a follow-up in; one that is here already, or was, by its number, changes nothing.
    pub fn put(&self, follow_up: FollowUp) -> Result<(), Closed> {
        let mut state = self.lock();
        if let Some(closed) = state.closed {
            // What the ledger told of first was read, or is handed back.
            let is_known = follow_up.inbox_seq.is_some_and(|seq| state.is_known(seq));
            return if is_known { Ok(()) } else { Err(closed) };
        }
        if let Some(seq) = follow_up.inbox_seq {
            if let Some(known) = state.waiting.iter_mut().find(|waiting| waiting.inbox_seq == Some(seq)) {
                // The ledger told of it before its sender's request came back: now its sender is known too.
                known.sender = known.sender.take().or(follow_up.sender);
                return Ok(());
            }
            if state.is_known(seq) {
                return Ok(());
            }
            state.know(seq);
        }
        state.waiting.push(follow_up);
        Ok(())
    }

    /// What waits, in order of arrival, numbered ones in the order of their numbers: one whose forerunner the ledger has
    /// yet to tell of waits for it, because a run counts what it has read by the last number.
    pub fn take(&self) -> Vec<FollowUp> {
        let mut state = self.lock();
        let known_to = state.known_to;
        let is_ready = |follow_up: &mut FollowUp| follow_up.inbox_seq.is_none_or(|seq| seq <= known_to);
        let mut ready: Vec<_> = state.waiting.extract_if(.., is_ready).collect();
        ready.sort_by_key(|follow_up| follow_up.inbox_seq);
        ready
    }

    /// Up to which number nothing is missing; the ledger is asked for what comes after it.
    pub fn last_inbox_seq(&self) -> u64 {
        self.lock().known_to
    }

    /// The run has read everything up to this number in an earlier process.
    pub fn begin_after(&self, seq: u64) {
        self.lock().known_to = seq;
    }

    /// Nothing is to be read under this number.
    pub fn skip(&self, seq: u64) {
        self.lock().know(seq);
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
    fn a_follow_up_waits_for_one_before_it_that_came_through_another_process() {
        let mailbox = Mailbox::default();
        mailbox.begin_after(1);
        mailbox.put(note("c", Some(3))).unwrap();
        assert!(mailbox.take().is_empty());
        // The ledger is asked for both, and tells of both.
        assert_eq!(mailbox.last_inbox_seq(), 1);
        mailbox.put(note("b", Some(2))).unwrap();
        mailbox.put(note("c", Some(3))).unwrap();
        assert_eq!(texts(mailbox.take()), ["b", "c"]);
        mailbox.skip(4);
        assert_eq!(mailbox.last_inbox_seq(), 4);
        mailbox.put(note("d", Some(6))).unwrap();
        assert_eq!(texts(mailbox.close(Closed::Ended)), ["d"]);
    }

    #[test]
    fn what_was_read_the_quick_way_is_not_refused_the_slow_way() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", Some(1))).unwrap();
        assert_eq!(texts(mailbox.close(Closed::Ended)), ["a"]);
        assert_eq!(mailbox.put(note("a", Some(1))), Ok(()));
        assert_eq!(mailbox.put(note("b", Some(2))), Err(Closed::Ended));
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
