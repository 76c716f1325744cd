//! Follow-ups waiting for the live run of a thread (bot supplement section 13).
//!
//! A mailbox takes messages until its run has ended; closing it hands back, in one step, what nobody read. So a
//! message is read by the run, or handed back, or refused because the run is over: never lost between. Not here: the
//! durable copy (the ledger's inbox), which tells the next generation what this one had not read.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{ChannelIo, IncomingMessage};

use super::Note;

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
    /// The marks of what was taken in, for copies whose number, or whose answer with it, was lost.
    deliveries: HashSet<String>,
}

impl State {
    fn is_known_copy(&self, follow_up: &FollowUp) -> bool {
        follow_up.inbox_seq.is_some_and(|seq| self.is_known(seq))
            || follow_up.note.delivery.as_ref().is_some_and(|delivery| self.deliveries.contains(delivery))
    }

    /// Completes what waits by what its copy says: the number, and the sender.
    fn complete(&mut self, copy: FollowUp) {
        let is_same = |waiting: &&mut FollowUp| {
            let by_number = waiting.inbox_seq.is_some() && waiting.inbox_seq == copy.inbox_seq;
            by_number || (waiting.note.delivery.is_some() && waiting.note.delivery == copy.note.delivery)
        };
        if let Some(waiting) = self.waiting.iter_mut().find(is_same) {
            waiting.inbox_seq = waiting.inbox_seq.or(copy.inbox_seq);
            waiting.sender = waiting.sender.take().or(copy.sender);
        }
    }

    fn is_known(&self, seq: u64) -> bool {
        seq <= self.known_to || self.known_beyond.contains(&seq)
    }

    fn know(&mut self, seq: u64) {
        if seq > self.known_to {
            self.known_beyond.insert(seq);
        }
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
        let is_known = state.is_known_copy(&follow_up);
        // What came another way first was read, or is handed back.
        if let (Some(closed), false) = (state.closed, is_known) {
            return Err(closed);
        }
        if let Some(seq) = follow_up.inbox_seq {
            state.know(seq);
        }
        if is_known {
            state.complete(follow_up);
            return Ok(());
        }
        state.deliveries.extend(follow_up.note.delivery.clone());
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
        let (user_id, text) = ("http:a".into(), text.into());
        let note = Note { text, user_id, received_at: 1, delivery: None, grants: None };
        FollowUp { note, inbox_seq, sender: None }
    }

    fn marked(delivery: &str, inbox_seq: Option<u64>) -> FollowUp {
        let mut follow_up = note("marked", inbox_seq);
        follow_up.note.delivery = Some(delivery.into());
        follow_up
    }

    #[test]
    fn a_follow_up_whose_number_was_lost_is_said_once_all_the_same() {
        let mailbox = Mailbox::default();
        mailbox.put(marked("d", None)).unwrap();
        // The ledger has it after all, even twice.
        mailbox.put(marked("d", Some(1))).unwrap();
        mailbox.put(marked("d", Some(2))).unwrap();
        let taken = mailbox.take();
        assert_eq!(taken.iter().map(|one| one.inbox_seq).collect::<Vec<_>>(), [Some(1)]);
        assert_eq!(mailbox.last_inbox_seq(), 2);

        mailbox.put(marked("e", None)).unwrap();
        assert_eq!(mailbox.take().len(), 1);
        mailbox.put(marked("e", Some(3))).unwrap();
        assert!(mailbox.take().is_empty());
        assert_eq!(mailbox.last_inbox_seq(), 3);
        mailbox.close(Closed::Ended);
        assert_eq!(mailbox.put(marked("e", Some(4))), Ok(()));
        assert_eq!(mailbox.put(marked("f", Some(5))), Err(Closed::Ended));
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
