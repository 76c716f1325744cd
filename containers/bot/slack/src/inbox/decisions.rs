//! Confirmations that were decided, in a document that all processes share.
//!
//! A press decides only if it is the first one to enter the confirmation, so two presses run a
//! command once, in one process or in two. Entries outlive the buttons.

use std::sync::Arc;

use ars_bot_ports::{Documents, StoreError};
use ars_slack::{Ts, confirm::CONFIRM_MAX_AGE_MS};
use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::document::SharedList;

/// The decided confirmations in the store.
const LIST: SharedList = SharedList {
    key: "slack-decisions",
    field: "decided",
};
/// Age at which an entry is removed. The buttons must have expired by then.
const DECISION_MAX_AGE_MS: i64 = 30 * 60 * 1000;
const _: () = assert!(DECISION_MAX_AGE_MS > CONFIRM_MAX_AGE_MS);
/// Maximum entries. Beyond them nothing is confirmed until older ones are removed.
const MAX_DECISIONS: usize = 1_000;

/// A decided confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Decided {
    at: UnixMillis,
    channel: String,
    /// The message with the buttons.
    ts: String,
}

/// The decided confirmations.
pub(crate) struct Decisions(Arc<dyn Documents>);

impl Decisions {
    pub(crate) fn new(documents: Arc<dyn Documents>) -> Self {
        Self(documents)
    }

    /// Enters a confirmation. Returns `false` if an earlier press decided it.
    ///
    /// # Errors
    /// The store rejected the change, so the press must have no effect.
    pub(crate) async fn decide(
        &self,
        channel: &str,
        ts: Ts,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let decided = Decided {
            at: now,
            channel: channel.to_owned(),
            ts: ts.to_string(),
        };
        LIST.change(&*self.0, |list| decided.clone().enter(list, now))
            .await
    }
}

impl Decided {
    /// Returns the list with this entry, or `None` and `false` if it was decided before.
    fn enter(
        self,
        list: Option<Value>,
        now: UnixMillis,
    ) -> Result<(Option<Value>, bool), StoreError> {
        let mut entries: Vec<Self> = match list {
            Some(list) => serde_json::from_value(list)
                .map_err(|error| StoreError::transient(error.to_string()))?,
            None => Vec::new(),
        };
        let is_same = |entry: &Self| entry.channel == self.channel && entry.ts == self.ts;
        if entries.iter().any(is_same) {
            return Ok((None, false));
        }
        entries.retain(|entry| now.saturating_sub(entry.at) <= DECISION_MAX_AGE_MS);
        if entries.len() >= MAX_DECISIONS {
            return Err(StoreError::transient("too many confirmations were decided"));
        }
        entries.push(self);
        Ok((Some(json!(entries)), true))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use ars_bot_testkit::MemoryDocuments;

    use super::*;

    fn ts(seconds: i64) -> Ts {
        Ts::from_millis(seconds * 1_000)
    }

    #[tokio::test]
    async fn two_presses_decide_once() {
        let documents = Arc::new(MemoryDocuments::default());
        let (one, other) = (
            Decisions::new(documents.clone()),
            Decisions::new(documents.clone()),
        );
        let (a, b) = tokio::join!(one.decide("C1", ts(1), 0), other.decide("C1", ts(1), 0));
        assert_ne!(a.unwrap(), b.unwrap());
        assert!(other.decide("C2", ts(1), 0).await.unwrap());
        assert!(one.decide("C1", ts(2), 0).await.unwrap());
        assert!(!one.decide("C1", ts(1), CONFIRM_MAX_AGE_MS).await.unwrap());
    }

    #[tokio::test]
    async fn undecided_if_the_store_fails() {
        let documents = Arc::new(MemoryDocuments::default());
        let decisions = Decisions::new(documents.clone());
        documents.is_down.store(true, Ordering::SeqCst);
        assert!(decisions.decide("C1", ts(1), 0).await.is_err());
        documents.is_down.store(false, Ordering::SeqCst);
        assert!(decisions.decide("C1", ts(1), 0).await.unwrap());
    }

    /// Old entries make room.
    #[tokio::test]
    async fn full_document_decides_nothing() {
        let decisions = Decisions::new(Arc::new(MemoryDocuments::default()));
        for second in 1..=i64::try_from(MAX_DECISIONS).unwrap() {
            assert!(decisions.decide("C1", ts(second), 0).await.unwrap());
        }
        assert!(decisions.decide("C1", ts(0), 0).await.is_err());
        let later = DECISION_MAX_AGE_MS + 1;
        assert!(decisions.decide("C1", ts(0), later).await.unwrap());
    }
}
