//! Edits and deletions that this process received, so that an old one undoes no newer one.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use ars_bot_ports::event_key;
use ars_slack::Ts;
use ars_types::Platform;
use ars_wire::idempotency::IdempotencyKey;
use lru::LruCache;

/// Changed messages remembered.
const MAX_CHANGED: usize = 1_000;

/// The newest edit of each changed message, by channel and id.
pub(crate) struct Changes(Mutex<LruCache<(String, Ts), Ts>>);

impl Default for Changes {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(
            NonZeroUsize::MIN.saturating_add(MAX_CHANGED - 1),
        )))
    }
}

impl Changes {
    /// Notes an edit. Returns `false` if it is known, or a newer one is.
    pub(crate) fn note(&self, channel: &str, ts: Ts, at: Ts) -> bool {
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (channel.to_owned(), ts);
        let is_newest = changed.get(&key).is_none_or(|newest| at > *newest);
        if is_newest {
            changed.put(key, at);
        }
        is_newest
    }
}

/// Returns the idempotency key of a message.
pub(crate) fn message_key(channel: &str, ts: Ts) -> IdempotencyKey {
    event_key(Platform::Slack, format!("{channel}:{ts}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_edit_stands() {
        let changes = Changes::default();
        let ts = |seconds: i64| Ts::from_millis(seconds * 1_000);
        assert!(changes.note("C1", ts(1), ts(3)));
        assert!(!changes.note("C1", ts(1), ts(2)) && !changes.note("C1", ts(1), ts(3)));
        assert!(changes.note("C2", ts(1), ts(2)) && changes.note("C1", ts(1), ts(4)));
    }
}
