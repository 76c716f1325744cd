//! Messages that a channel serves and that no run has received: their authors may still change them.
//!
//! Not here: changes of messages that a run received and has not read (`mailbox`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::texts::with_note;
use ars_wire::idempotency::IdempotencyKey;

/// What happened to a message after it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amendment {
    /// Its author replaced the text.
    Text {
        /// The new text.
        text: String,
        /// What the channel adds for the model, such as the names of files that it did not include.
        note: Option<String>,
        /// Namespaced id of the author. Others change nothing.
        author: String,
    },
    /// It was deleted.
    Withdrawn,
}

impl Amendment {
    /// Returns the text that a run reads. A deletion has none.
    pub(crate) fn full_text(&self) -> String {
        match self {
            Self::Text { text, note, .. } => with_note(text.clone(), note.as_deref()),
            Self::Withdrawn => String::new(),
        }
    }
}

/// The messages that are served now.
#[derive(Clone, Default)]
pub struct Drafts {
    open: Arc<Mutex<HashMap<IdempotencyKey, Served>>>,
}

struct Served {
    author: String,
    holders: usize,
    newest: Option<Amendment>,
}

/// A served message, until dropped.
pub struct Draft {
    drafts: Drafts,
    key: IdempotencyKey,
}

impl Drafts {
    /// Opens a message. It may be open already.
    pub fn open(&self, key: &IdempotencyKey, author: &str) -> Draft {
        let mut open = self.lock();
        let served = open.entry(key.clone()).or_insert_with(|| Served {
            author: author.to_owned(),
            holders: 0,
            newest: None,
        });
        served.holders += 1;
        Draft {
            drafts: self.clone(),
            key: key.clone(),
        }
    }

    /// Keeps an amendment of an open message, and applies it where a run received the message.
    ///
    /// Both happen under one lock with [`Drafts::settle`], so that the newest amendment wins.
    pub fn amend<T>(
        &self,
        key: &IdempotencyKey,
        amendment: &Amendment,
        apply: impl FnOnce() -> T,
    ) -> (bool, T) {
        let mut open = self.lock();
        let is_kept = open
            .get_mut(key)
            .is_some_and(|served| served.keep(amendment));
        (is_kept, apply())
    }

    /// Applies the newest amendment, now that a run received the message.
    pub fn settle<T>(
        &self,
        key: &IdempotencyKey,
        apply: impl FnOnce(&Amendment) -> T,
    ) -> Option<T> {
        let open = self.lock();
        let newest = open.get(key)?.newest.as_ref()?;
        Some(apply(newest))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, Served>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Served {
    /// Keeps an amendment. A deletion is final, and only the author edits.
    fn keep(&mut self, amendment: &Amendment) -> bool {
        let is_valid = match amendment {
            Amendment::Text { author, .. } => {
                *author == self.author && self.newest != Some(Amendment::Withdrawn)
            }
            Amendment::Withdrawn => true,
        };
        if is_valid {
            self.newest = Some(amendment.clone());
        }
        is_valid
    }
}

impl Draft {
    /// Removes and returns the newest amendment.
    pub fn take(&self) -> Option<Amendment> {
        self.drafts.lock().get_mut(&self.key)?.newest.take()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let mut open = self.drafts.lock();
        if let Some(served) = open.get_mut(&self.key) {
            served.holders -= 1;
            if served.holders == 0 {
                open.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_amendment_by_the_author_is_kept() {
        let key = |key: &str| IdempotencyKey {
            subject: "s".into(),
            key: key.into(),
            fingerprint: String::new(),
        };
        let text = |author: &str, text: &str| Amendment::Text {
            author: author.into(),
            text: text.into(),
            note: None,
        };
        let drafts = Drafts::default();
        let amend = |name: &str, amendment| drafts.amend(&key(name), &amendment, || ()).0;
        let draft = drafts.open(&key("a"), "ann");
        drop(drafts.open(&key("a"), "ann"));
        assert!(!amend("b", Amendment::Withdrawn));
        assert!(amend("a", text("ann", "1")) && amend("a", text("ann", "2")));
        assert!(!amend("a", text("bob", "3")));
        assert_eq!(
            drafts.settle(&key("a"), Clone::clone),
            Some(text("ann", "2"))
        );
        assert!(amend("a", Amendment::Withdrawn) && !amend("a", text("ann", "4")));
        assert_eq!(
            (draft.take(), draft.take()),
            (Some(Amendment::Withdrawn), None)
        );
        drop(draft);
        assert!(!amend("a", Amendment::Withdrawn));
    }
}
