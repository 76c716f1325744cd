//! Changes of messages that the run has not read: its request, and its queued follow-ups.

use ars_bot_ports::Overload;
use ars_wire::idempotency::IdempotencyKey;

use super::{Load, Mailbox, State, exceeds};
use crate::{
    limits::load_limits::LoadLimits,
    threads::{Change, Note},
};

/// The request of a run that has not read it.
pub(super) struct UnreadRequest {
    key: IdempotencyKey,
    author: String,
    state: Option<Edit>,
}

enum Edit {
    Text(String),
    Withdrawn,
}

/// What a change applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The run's request.
    Request,
    /// A queued follow-up.
    FollowUp,
}

impl Mailbox {
    /// Sets the request that the run is going to read.
    pub fn await_request(&self, key: Option<&IdempotencyKey>, author: &str) {
        self.lock().request = key.map(|key| UnreadRequest {
            key: key.clone(),
            author: author.to_owned(),
            state: None,
        });
    }

    /// Returns whether the request was deleted before the run read it.
    pub fn is_request_withdrawn(&self) -> bool {
        let state = self.lock();
        let request = state.request.as_ref();
        request.is_some_and(|request| matches!(request.state, Some(Edit::Withdrawn)))
    }

    /// Notes that the run reads the request. Returns its text if the author changed it.
    pub fn read_request(&self) -> Option<String> {
        match self.lock().request.take()?.state? {
            Edit::Text(text) => Some(text),
            Edit::Withdrawn => None,
        }
    }

    /// Applies a change. `original` is the new text with its directives, for a follow-up that
    /// becomes a request. Returns `None` if the run read the message or never received it.
    ///
    /// # Errors
    /// The follow-up's new text exceeds the limit of unread bytes.
    pub fn amend(
        &self,
        note: &Note,
        original: &str,
        limits: &LoadLimits,
    ) -> Result<Option<Target>, Overload> {
        let mut state = self.lock();
        state.check_room(note, limits)?;
        let target = state.amend(note, Some(original));
        if target.is_some() {
            // The ledger's copy must not undo a later change.
            state.deliveries.extend(note.delivery.clone());
        }
        Ok(target)
    }
}

impl State {
    fn check_room(&self, note: &Note, limits: &LoadLimits) -> Result<(), Overload> {
        let (Some(at), Some(limit)) = (self.changed_follow_up(note), limits.follow_up_bytes) else {
            return Ok(());
        };
        let waiting = self.waiting.iter().map(Load::waiting);
        let full = waiting.fold(self.arriving, Load::plus);
        let bytes = full.bytes - self.waiting[at].note.text.len() + note.text.len();
        match exceeds(bytes, limit) && note.text.len() > self.waiting[at].note.text.len() {
            true => Err(Overload::FollowUpBytes { limit }),
            false => Ok(()),
        }
    }

    /// Returns the index of the follow-up that a note changes.
    fn changed_follow_up(&self, note: &Note) -> Option<usize> {
        let may_change =
            |author: &str| note.change == Some(Change::Deleted) || note.user_id == author;
        let mut waiting = self.waiting.iter();
        note.key.as_ref()?;
        waiting.position(|one| one.note.key == note.key && may_change(&one.note.user_id))
    }

    /// Applies a change. Returns `None` if there is nothing to change.
    pub(super) fn amend(&mut self, note: &Note, original: Option<&str>) -> Option<Target> {
        let change = note.change?;
        if let Some(at) = self.changed_follow_up(note) {
            match change {
                Change::Edited => {
                    let follow_up = &mut self.waiting[at];
                    follow_up.note.text.clone_from(&note.text);
                    if let Some(sender) = &mut follow_up.sender {
                        sender.message.text = original.unwrap_or(&note.text).to_owned();
                    }
                }
                Change::Deleted => drop(self.waiting.remove(at)),
            }
            return Some(Target::FollowUp);
        }
        let request = self.request.as_mut()?;
        let is_final = matches!(request.state, Some(Edit::Withdrawn));
        if note.key.as_ref() != Some(&request.key) || is_final {
            return None;
        }
        request.state = match change {
            Change::Edited if note.user_id == request.author => Some(Edit::Text(note.text.clone())),
            Change::Edited => return None,
            Change::Deleted => Some(Edit::Withdrawn),
        };
        Some(Target::Request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::FollowUp;

    fn key(name: &str) -> IdempotencyKey {
        IdempotencyKey {
            subject: "slack".into(),
            key: name.into(),
            fingerprint: String::new(),
        }
    }

    fn edit(name: &str, author: &str, text: &str) -> Note {
        Note::amending(&key(name), Some((author, text)), 1)
    }

    fn deletion(name: &str) -> Note {
        Note::amending(&key(name), None, 1)
    }

    fn follow_up(note: Note, inbox_seq: Option<u64>) -> FollowUp {
        FollowUp {
            note,
            inbox_seq,
            sender: None,
        }
    }

    fn with_follow_ups(names: &[&str]) -> Mailbox {
        let mailbox = Mailbox::default();
        for (name, seq) in names.iter().zip(1..) {
            let message = Note {
                change: None,
                ..edit(name, "ann", name)
            };
            mailbox.put(follow_up(message, Some(seq))).unwrap();
        }
        mailbox
    }

    fn texts(mailbox: &Mailbox) -> Vec<String> {
        let taken = mailbox.take().into_iter();
        taken.map(|follow_up| follow_up.note.text).collect()
    }

    #[test]
    fn only_unread_messages_change() {
        let mailbox = with_follow_ups(&["a", "b"]);
        let amend = |note| mailbox.amend(&note, "", &LoadLimits::NONE).unwrap();
        assert_eq!(amend(edit("a", "bob", "no")), None);
        assert_eq!(amend(edit("a", "ann", "new")), Some(Target::FollowUp));
        assert_eq!(amend(deletion("b")), Some(Target::FollowUp));
        assert_eq!(amend(deletion("c")), None);
        assert_eq!(texts(&mailbox), ["new"]);
        assert_eq!(amend(edit("a", "ann", "late")), None);

        mailbox.await_request(Some(&key("r")), "ann");
        assert_eq!(amend(edit("r", "bob", "no")), None);
        assert_eq!(amend(edit("r", "ann", "new")), Some(Target::Request));
        assert_eq!(mailbox.read_request(), Some("new".into()));
        assert_eq!(amend(deletion("r")), None);
        assert_eq!(mailbox.read_request(), None);
    }

    #[test]
    fn deleted_request_stays_deleted() {
        let mailbox = Mailbox::default();
        mailbox.await_request(Some(&key("r")), "ann");
        let amend = |note| mailbox.amend(&note, "", &LoadLimits::NONE).unwrap();
        assert_eq!(amend(deletion("r")), Some(Target::Request));
        assert_eq!(amend(edit("r", "ann", "back")), None);
        assert!(mailbox.is_request_withdrawn());
    }

    /// A process that resumes the run applies the changes as the ledger's inbox has them.
    #[test]
    fn stored_changes_apply_once() {
        let mailbox = with_follow_ups(&["a", "b"]);
        let newest = edit("a", "ann", "newest");
        mailbox.amend(&newest, "", &LoadLimits::NONE).unwrap();
        for (note, seq) in [(newest, 3), (deletion("b"), 4), (deletion("c"), 5)] {
            mailbox.put(follow_up(note, Some(seq))).unwrap();
        }
        assert_eq!(mailbox.last_inbox_seq(), 5);
        assert_eq!(texts(&mailbox), ["newest"]);

        let mailbox = with_follow_ups(&["a"]);
        let (first, second) = (edit("a", "ann", "first"), edit("a", "ann", "second"));
        for note in [&first, &second] {
            mailbox.amend(note, "", &LoadLimits::NONE).unwrap();
        }
        mailbox.put(follow_up(first, Some(2))).unwrap();
        assert_eq!(texts(&mailbox), ["second"]);
    }

    #[test]
    fn longer_text_needs_room() {
        let mailbox = with_follow_ups(&["a", "b"]);
        let limits = LoadLimits {
            follow_up_bytes: Some(4),
            ..LoadLimits::default()
        };
        let amend = |text| mailbox.amend(&edit("a", "ann", text), "", &limits);
        assert_eq!(amend("1234"), Err(Overload::FollowUpBytes { limit: 4 }));
        assert_eq!(amend("123"), Ok(Some(Target::FollowUp)));
    }
}
