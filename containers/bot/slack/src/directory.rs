//! Names and permissions of channels and users, asked once and kept for a while.
//!
//! Not here: permissions (`ars_auth`).

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lru::LruCache;
use tokio::{sync::OnceCell, time::Instant};

use crate::api::{Api, ApiError, ChannelFacts, UserFacts};

/// Entries kept of each kind.
const MAX_DIRECTORY_ENTRIES: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();
/// Age at which an entry is asked again: a member can become a guest, a channel private.
const MAX_ENTRY_AGE: Duration = Duration::from_secs(5 * 60);

/// The platform's answers about channels and users.
pub(crate) struct Directory {
    channels: Cache<ChannelFacts>,
    users: Cache<UserFacts>,
}

impl Default for Directory {
    fn default() -> Self {
        Self {
            channels: Cache::new(),
            users: Cache::new(),
        }
    }
}

impl Directory {
    /// Returns a channel's facts.
    pub(crate) async fn channel(&self, api: &Api, id: &str) -> Result<ChannelFacts, ApiError> {
        let entry = self.channels.entry(id);
        entry.get_or_try_init(|| api.channel(id)).await.cloned()
    }

    /// Returns a user's facts.
    pub(crate) async fn user(&self, api: &Api, id: &str) -> Result<UserFacts, ApiError> {
        let entry = self.users.entry(id);
        entry.get_or_try_init(|| api.user(id)).await.cloned()
    }
}

/// Answers by id. A second question about an id waits for the answer to the first.
struct Cache<T> {
    entries: Mutex<LruCache<String, Entry<T>>>,
}

/// When an entry was made, and the answer.
type Entry<T> = (Instant, Arc<OnceCell<T>>);

impl<T> Cache<T> {
    fn new() -> Self {
        Self {
            entries: Mutex::new(LruCache::new(MAX_DIRECTORY_ENTRIES)),
        }
    }

    fn entry(&self, id: &str) -> Arc<OnceCell<T>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, entry)) = entries.get(id)
            && at.elapsed() < MAX_ENTRY_AGE
        {
            return Arc::clone(entry);
        }
        let entry = Arc::new(OnceCell::new());
        entries.put(id.to_owned(), (Instant::now(), Arc::clone(&entry)));
        entry
    }
}
