//! Threads that the bot takes part in, as read from the platform.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use ars_slack::Ts;
use lru::LruCache;

/// Threads remembered. A forgotten one is read again.
const MAX_JOINED: NonZeroUsize = NonZeroUsize::new(5_000).unwrap();

/// Threads by channel and parent.
pub(crate) struct Joined(Mutex<LruCache<(String, Ts), ()>>);

impl Default for Joined {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_JOINED)))
    }
}

impl Joined {
    /// Returns whether the bot is known to take part.
    pub(crate) fn contains(&self, thread: &(String, Ts)) -> bool {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.get(thread).is_some()
    }

    /// Notes that the bot takes part.
    pub(crate) fn add(&self, thread: (String, Ts)) {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.put(thread, ());
    }
}
