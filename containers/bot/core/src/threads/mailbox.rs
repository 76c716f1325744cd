//! The mailbox for a thread's live run: the queued follow-ups.
//!
//! A mailbox accepts messages until it is closed, and closing returns the unread ones atomically.
//! So a message is read by the run, returned, or rejected because the run ended, and never lost.
//! Not here: the durable copy in the ledger's inbox, from which the next owner reads.

mod amend;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Attachment, Channel, IncomingMessage, Overload};

pub use self::amend::Target;
use self::amend::UnreadRequest;
use super::Note;
use crate::{attachments::content_bytes, limits::load_limits::LoadLimits};

/// Maximum size of the files of a run's unread follow-ups, in bytes: those of a full thread.
const UNREAD_FILES_MAX_BYTES: u32 = 58_720_256;

/// A message for a live run.
#[derive(Clone)]
pub struct FollowUp {
    /// The message as the ledger's inbox stores it.
    pub note: Note,
    /// Number in the ledger's inbox, if it is there.
    pub inbox_seq: Option<u64>,
    /// The sender, when the message came through this process.
    pub sender: Option<Sender>,
}

/// Who sent a follow-up.
#[derive(Clone)]
pub struct Sender {
    /// The original message as received.
    pub message: IncomingMessage,
    /// Channel for replies to the sender.
    pub io: Arc<dyn Channel>,
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
    /// Follow-ups that are being queued.
    arriving: Load,
    /// Every number up to here was received, which makes delivery idempotent.
    known_to: u64,
    /// Received numbers beyond it. Those between came through other processes and follow with a flush.
    known_beyond: BTreeSet<u64>,
    /// Delivery ids from received messages, for copies without a known number.
    deliveries: HashSet<String>,
    /// The request, until the run reads it.
    request: Option<UnreadRequest>,
}

/// Follow-ups that a mailbox has room for.
#[derive(Clone, Copy, Default)]
struct Load {
    count: usize,
    /// Bytes of the texts.
    bytes: usize,
    /// Bytes of the files in this process's memory.
    file_bytes: usize,
}

impl Load {
    fn new(text: &str, attachments: &[Attachment]) -> Self {
        Self {
            count: 1,
            bytes: text.len(),
            file_bytes: content_bytes(attachments),
        }
    }

    fn waiting(follow_up: &FollowUp) -> Self {
        let sender = follow_up.sender.as_ref();
        let attachments = sender.map_or(&[][..], |sender| &sender.message.attachments);
        Self::new(&follow_up.note.text, attachments)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
            file_bytes: self.file_bytes + other.file_bytes,
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            bytes: self.bytes - other.bytes,
            file_bytes: self.file_bytes - other.file_bytes,
        }
    }
}

impl State {
    fn is_known_copy(&self, follow_up: &FollowUp) -> bool {
        follow_up.inbox_seq.is_some_and(|seq| self.is_known(seq))
            || follow_up
                .note
                .delivery
                .as_ref()
                .is_some_and(|delivery| self.deliveries.contains(delivery))
    }

    /// Completes a queued follow-up with the copy's number and sender.
    fn complete(&mut self, copy: FollowUp) {
        let is_same = |waiting: &&mut FollowUp| {
            let by_number = waiting.inbox_seq.is_some() && waiting.inbox_seq == copy.inbox_seq;
            by_number
                || (waiting.note.delivery.is_some() && waiting.note.delivery == copy.note.delivery)
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

/// Room for a follow-up in a mailbox, until dropped.
pub struct Room {
    mailbox: Mailbox,
    load: Load,
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut state = self.mailbox.lock();
        state.arriving = state.arriving.minus(self.load);
    }
}

/// The reason for which a mailbox is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The run has ended.
    Ended,
    /// The run continues in another process, which reads the ledger's inbox.
    HandedOff,
}

impl Mailbox {
    /// Reserves room for a text and its files. Hold it until the follow-up is queued.
    ///
    /// # Errors
    /// The unread follow-up limit that they would exceed.
    pub fn reserve(
        &self,
        text: &str,
        attachments: &[Attachment],
        limits: &LoadLimits,
    ) -> Result<Room, Overload> {
        let mut state = self.lock();
        let load = Load::new(text, attachments);
        let waiting = state.waiting.iter().map(Load::waiting);
        let full = waiting.fold(state.arriving.plus(load), Load::plus);
        if let Some(limit) = limits
            .follow_ups
            .filter(|limit| exceeds(full.count, *limit))
        {
            return Err(Overload::FollowUps { limit });
        }
        if let Some(limit) = limits
            .follow_up_bytes
            .filter(|limit| exceeds(full.bytes, *limit))
        {
            return Err(Overload::FollowUpBytes { limit });
        }
        if exceeds(full.file_bytes, UNREAD_FILES_MAX_BYTES) {
            return Err(Overload::FollowUpBytes {
                limit: UNREAD_FILES_MAX_BYTES,
            });
        }
        state.arriving = state.arriving.plus(load);
        Ok(Room {
            mailbox: self.clone(),
            load,
        })
    }

    /// Queues a follow-up, unless the number or delivery id was received before. A change is applied
    /// at once.
    pub fn put(&self, follow_up: FollowUp) -> Result<(), Closed> {
        let mut state = self.lock();
        let is_known = state.is_known_copy(&follow_up);
        // A copy that came another way was read, or is returned.
        let is_change = follow_up.note.change.is_some();
        if let (Some(closed), false) = (state.closed, is_known || is_change) {
            return Err(closed);
        }
        if let Some(seq) = follow_up.inbox_seq {
            state.know(seq);
        }
        if is_known {
            state.complete(follow_up);
            return Ok(());
        }
        if is_change {
            state.amend(&follow_up.note, None);
            return Ok(());
        }
        state.deliveries.extend(follow_up.note.delivery.clone());
        state.waiting.push(follow_up);
        Ok(())
    }

    /// Removes and returns the queued follow-ups in arrival order, numbered ones by number. A
    /// numbered follow-up waits for the predecessors, because a run records the last number it has
    /// read.
    pub fn take(&self) -> Vec<FollowUp> {
        let mut state = self.lock();
        let known_to = state.known_to;
        let is_ready =
            |follow_up: &mut FollowUp| follow_up.inbox_seq.is_none_or(|seq| seq <= known_to);
        let mut ready: Vec<_> = state.waiting.extract_if(.., is_ready).collect();
        ready.sort_by_key(|follow_up| follow_up.inbox_seq);
        ready
    }

    /// Returns the last number without a gap before it. The ledger is queried for later ones.
    pub fn last_inbox_seq(&self) -> u64 {
        self.lock().known_to
    }

    /// Marks everything up to this number as read by an earlier process.
    pub fn begin_after(&self, seq: u64) {
        self.lock().known_to = seq;
    }

    /// Skips a number without a readable message.
    pub fn skip(&self, seq: u64) {
        self.lock().know(seq);
    }

    /// Returns whether the run reads no more follow-ups.
    pub fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    /// Closes the mailbox and returns the queued follow-ups.
    pub fn close(&self, why: Closed) -> Vec<FollowUp> {
        let mut state = self.lock();
        state.closed.get_or_insert(why);
        state.request = None;
        std::mem::take(&mut state.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exceeds(count: usize, limit: u32) -> bool {
    count > usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use ars_bot_ports::AttachmentKind;

    use super::*;

    fn note(text: &str, inbox_seq: Option<u64>) -> FollowUp {
        let (user_id, text) = ("http:a".into(), text.into());
        let note = Note {
            text,
            attachments: Vec::new(),
            user_id,
            received_at: 1,
            delivery: None,
            grants: None,
            token: None,
            key: None,
            change: None,
        };
        FollowUp {
            note,
            inbox_seq,
            sender: None,
        }
    }

    fn marked(delivery: &str, inbox_seq: Option<u64>) -> FollowUp {
        let mut follow_up = note("marked", inbox_seq);
        follow_up.note.delivery = Some(delivery.into());
        follow_up
    }

    #[test]
    fn unread_follow_ups_are_bounded() {
        let limits = LoadLimits {
            follow_ups: Some(2),
            follow_up_bytes: Some(10),
            ..LoadLimits::default()
        };
        let mailbox = Mailbox::default();
        mailbox.put(note("1234", None)).unwrap();
        assert_eq!(
            mailbox.reserve("1234567", &[], &limits).err(),
            Some(Overload::FollowUpBytes { limit: 10 })
        );
        let arriving = mailbox.reserve("12", &[], &limits).ok().unwrap();
        assert_eq!(
            mailbox.reserve("", &[], &limits).err(),
            Some(Overload::FollowUps { limit: 2 })
        );
        drop(arriving);
        assert!(mailbox.reserve("123456", &[], &limits).is_ok());
        mailbox.take();
        assert!(mailbox.reserve("1234567890", &[], &limits).is_ok());

        let file = Attachment {
            name: "a.pdf".into(),
            media_type: "application/pdf".into(),
            kind: AttachmentKind::Document,
            content: vec![0; UNREAD_FILES_MAX_BYTES as usize / 2].into(),
            reference: None,
        };
        let files = [file.clone(), file.clone()];
        let _room = mailbox.reserve("", &files, &limits).ok().unwrap();
        let limit = UNREAD_FILES_MAX_BYTES;
        assert_eq!(
            mailbox.reserve("", &[file], &LoadLimits::NONE).err(),
            Some(Overload::FollowUpBytes { limit })
        );
    }

    #[test]
    fn copy_without_number_is_delivered_once() {
        let mailbox = Mailbox::default();
        mailbox.put(marked("d", None)).unwrap();
        // The ledger has it after all, even twice.
        mailbox.put(marked("d", Some(1))).unwrap();
        mailbox.put(marked("d", Some(2))).unwrap();
        let taken = mailbox.take();
        assert_eq!(
            taken.iter().map(|one| one.inbox_seq).collect::<Vec<_>>(),
            [Some(1)]
        );
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
        follow_ups
            .into_iter()
            .map(|follow_up| follow_up.note.text)
            .collect()
    }

    #[test]
    fn follow_ups_keep_their_order() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", None)).unwrap();
        mailbox.put(note("b", Some(1))).unwrap();
        assert_eq!(texts(mailbox.take()), ["a", "b"]);
        assert!(mailbox.take().is_empty());
    }

    #[test]
    fn duplicate_is_delivered_once() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", Some(1))).unwrap();
        mailbox.put(note("a", Some(1))).unwrap();
        assert_eq!(texts(mailbox.take()), ["a"]);
        // Already read: the slower copy is ignored.
        mailbox.put(note("a", Some(1))).unwrap();
        assert!(mailbox.take().is_empty());
        assert_eq!(mailbox.last_inbox_seq(), 1);
    }

    #[test]
    fn follow_up_waits_for_its_predecessor() {
        let mailbox = Mailbox::default();
        mailbox.begin_after(1);
        mailbox.put(note("c", Some(3))).unwrap();
        assert!(mailbox.take().is_empty());
        // The ledger is queried for both, and returns both.
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
    fn late_copy_of_a_read_message_succeeds() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", Some(1))).unwrap();
        assert_eq!(texts(mailbox.close(Closed::Ended)), ["a"]);
        assert_eq!(mailbox.put(note("a", Some(1))), Ok(()));
        assert_eq!(mailbox.put(note("b", Some(2))), Err(Closed::Ended));
    }

    #[test]
    fn closing_returns_unread_follow_ups() {
        let mailbox = Mailbox::default();
        mailbox.put(note("a", None)).unwrap();
        assert_eq!(texts(mailbox.close(Closed::Ended)), ["a"]);
        assert_eq!(mailbox.put(note("b", None)), Err(Closed::Ended));
        assert!(mailbox.close(Closed::HandedOff).is_empty());
        assert_eq!(mailbox.put(note("c", None)), Err(Closed::Ended));
    }
}
