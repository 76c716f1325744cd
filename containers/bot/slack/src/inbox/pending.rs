//! Accepted messages that are not dispatched yet, in a document that outlasts the process.
//!
//! A message is stored before it is acknowledged to the platform, and removed once the run exists
//! or it was answered. Only the place is stored: the text stays on the platform. Changes are
//! written together, so a burst of events costs few writes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Documents, StoreError};
use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::document::SharedList;

/// The accepted messages in the store.
const LIST: SharedList = SharedList {
    key: "slack-pending",
    field: "messages",
};
/// Maximum messages in the document, which keeps it below the size of a document.
const MAX_PENDING: usize = 1_000;

/// Where a message is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PendingMessage {
    /// When it was accepted.
    pub(crate) accepted_at: UnixMillis,
    /// The channel.
    pub(crate) channel: String,
    /// The message's id.
    pub(crate) ts: String,
    /// The thread's id.
    pub(crate) thread: String,
}

/// The accepted messages.
pub(crate) struct Pending {
    documents: Arc<dyn Documents>,
    changes: Mutex<Changes>,
    /// Locked while writing. Who waits for it finds the change written, or writes for others too.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Changes {
    added: Vec<PendingMessage>,
    removed: Vec<(String, String)>,
    /// Counts changes; those up to `written` are in the document.
    made: u64,
    written: u64,
}

impl Pending {
    pub(crate) fn new(documents: Arc<dyn Documents>) -> Self {
        Self {
            documents,
            changes: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Stores an accepted message.
    ///
    /// # Errors
    /// The store rejected the change.
    pub(crate) async fn add(&self, message: PendingMessage) -> Result<(), StoreError> {
        let change = {
            let mut changes = self.lock();
            changes.added.push(message);
            changes.made += 1;
            changes.made
        };
        self.write(change).await
    }

    /// Removes a message that was begun or answered. A failure is logged: the next process finds
    /// the answer in the thread.
    pub(crate) async fn remove(&self, channel: &str, ts: &str) {
        let change = {
            let mut changes = self.lock();
            changes.removed.push((channel.to_owned(), ts.to_owned()));
            changes.made += 1;
            changes.made
        };
        if let Err(error) = self.write(change).await {
            tracing::warn!(%error, "a served chat message stays in the list of accepted ones");
        }
    }

    /// Returns the accepted messages, oldest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub(crate) async fn read(&self) -> Result<Vec<PendingMessage>, StoreError> {
        let known = by_place(LIST.read(&*self.documents).await?);
        let mut messages: Vec<_> = known.into_values().collect();
        messages.sort();
        Ok(messages)
    }

    /// Writes all changes, at least up to this one.
    async fn write(&self, change: u64) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        let (added, removed, made) = {
            let mut changes = self.lock();
            if changes.written >= change {
                return Ok(());
            }
            let made = changes.made;
            let added = std::mem::take(&mut changes.added);
            (added, std::mem::take(&mut changes.removed), made)
        };
        let result = self.replace(&added, &removed).await;
        let mut changes = self.lock();
        match &result {
            Ok(()) => changes.written = made,
            Err(_) => {
                // A later change tries again.
                changes.added.splice(0..0, added);
                changes.removed.splice(0..0, removed);
            }
        }
        result
    }

    async fn replace(
        &self,
        added: &[PendingMessage],
        removed: &[(String, String)],
    ) -> Result<(), StoreError> {
        LIST.change(&*self.documents, |list| {
            let mut known = by_place(list);
            for message in added {
                let key = (message.channel.clone(), message.ts.clone());
                known.entry(key).or_insert_with(|| message.clone());
            }
            for key in removed {
                known.remove(key);
            }
            while known.len() > MAX_PENDING {
                let oldest = known.iter().min_by_key(|(_, message)| message.accepted_at);
                let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                    break;
                };
                tracing::warn!(
                    "too many chat messages wait: the oldest may be lost with the process"
                );
                known.remove(&key);
            }
            let messages: Vec<_> = known.into_values().collect();
            Ok((Some(json!(messages)), ()))
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the list. An unreadable one counts as empty.
fn by_place(list: Option<Value>) -> BTreeMap<(String, String), PendingMessage> {
    let messages: Vec<PendingMessage> = list
        .and_then(|list| serde_json::from_value(list).ok())
        .unwrap_or_default();
    messages
        .into_iter()
        .map(|message| ((message.channel.clone(), message.ts.clone()), message))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use ars_bot_testkit::MemoryDocuments;
    use futures::future::join_all;

    use super::*;

    fn message(number: i64) -> PendingMessage {
        PendingMessage {
            accepted_at: number,
            channel: "C1".into(),
            ts: format!("{number}.0"),
            thread: format!("{number}.0"),
        }
    }

    async fn stored(documents: &Arc<MemoryDocuments>) -> Vec<i64> {
        let messages = Pending::new(documents.clone()).read().await.unwrap();
        messages.iter().map(|message| message.accepted_at).collect()
    }

    #[tokio::test]
    async fn two_processes_keep_each_others_messages() {
        let documents = Arc::new(MemoryDocuments::default());
        let (one, other) = (
            Pending::new(documents.clone()),
            Pending::new(documents.clone()),
        );
        let (a, b) = tokio::join!(one.add(message(2)), other.add(message(1)));
        a.and(b).unwrap();
        assert_eq!(stored(&documents).await, [1, 2]);
        other.remove("C1", "2.0").await;
        assert_eq!(stored(&documents).await, [1]);
    }

    #[tokio::test]
    async fn burst_is_written_together() {
        let documents = Arc::new(MemoryDocuments::default());
        let pending = Pending::new(documents.clone());
        let added = join_all((1..=100).map(|number| pending.add(message(number)))).await;
        assert!(added.iter().all(Result::is_ok));
        assert_eq!(stored(&documents).await.len(), 100);
        assert!(documents.writes() <= 3, "{}", documents.writes());
    }

    /// Changes of an outage are written with the next change.
    #[tokio::test]
    async fn outage_delays_changes_only() {
        let documents = Arc::new(MemoryDocuments::default());
        let pending = Pending::new(documents.clone());
        pending.add(message(1)).await.unwrap();
        documents.is_down.store(true, Ordering::SeqCst);
        pending.remove("C1", "1.0").await;
        assert!(pending.add(message(2)).await.is_err());
        documents.is_down.store(false, Ordering::SeqCst);
        pending.add(message(3)).await.unwrap();
        assert_eq!(stored(&documents).await, [2, 3]);
    }

    #[tokio::test]
    async fn oldest_messages_give_way() {
        let documents = Arc::new(MemoryDocuments::default());
        let pending = Pending::new(documents.clone());
        let many = i64::try_from(MAX_PENDING).unwrap() + 1;
        join_all((1..=many).map(|number| pending.add(message(number)))).await;
        let stored = stored(&documents).await;
        assert_eq!((stored.len(), stored[0]), (MAX_PENDING, 2));
    }
}
