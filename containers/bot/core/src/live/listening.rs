//! A run that goes on without the ledger because its claim was not answered: the claim may have taken effect.
//!
//! Then the ledger has the run as this process's, its thread as taken, and takes stops and follow-ups for it that their
//! senders are told were passed on (state-worker supplement section 9.3). So each heartbeat asks for the run too; from
//! the answer that it is there on, it is flushed and heard as any other. Not here: steps. A resume would know nothing of
//! those that came before, so such a run dies with its process.

use std::{sync::Arc, time::Duration};

use ars_agent::resume;
use ars_bot_ports::{Owned, StoreError};
use ars_types::RunStatus;
use serde_json::{Map, Value};

use super::{Gate, Live, slot::Slot, tracked::REPLIED};

/// How long its end waits for the ledger each time: as long as its beginning did.
const PATIENCE: Duration = super::CLAIM_PATIENCE;

/// One such run, listened for until dropped.
pub struct Listening {
    live: Live,
    slot: Arc<Slot>,
}

impl Listening {
    pub(super) fn new(live: Live, slot: Arc<Slot>) -> Self {
        Self { live, slot }
    }

    /// The ledger had it, and another process took it.
    pub fn is_lost(&self) -> bool {
        self.slot.is_lost()
    }

    /// Asks for the right to reply, if the ledger has the run: then nobody is told any more that it reads follow-ups.
    pub async fn finishing(&self, status: RunStatus) -> Gate {
        self.last_news().await;
        if self.is_lost() {
            return Gate::Closed;
        }
        if !self.slot.is_there() {
            return Gate::Unavailable;
        }
        let asked = tokio::time::timeout(PATIENCE, self.ask_for_leave(status)).await;
        match asked {
            Ok(Ok(Owned::Done(()))) => Gate::Open,
            Ok(Ok(Owned::Fenced | Owned::UnknownRun)) => {
                self.slot.lose();
                Gate::Closed
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(run = %self.slot.run(), "replying without the ledger's leave");
                Gate::Unavailable
            }
        }
    }

    /// How it ends comes first: a run that is found in `finishing` without that is taken for one that has replied
    /// (state-worker supplement section 9.5).
    async fn ask_for_leave(&self, status: RunStatus) -> Result<Owned, StoreError> {
        match self.tell(status, false).await? {
            Owned::Done(()) => self.live.ledger().finishing(&self.slot.owner).await,
            refused => Ok(refused),
        }
    }

    /// The reply was tried: whoever closes the run in this process's place knows that it may say how it ended.
    pub async fn replied(&self, status: RunStatus) {
        if self.is_lost() || !self.slot.is_there() {
            return;
        }
        let told = tokio::time::timeout(PATIENCE, self.tell(status, true)).await;
        if !matches!(told, Ok(Ok(Owned::Done(())))) {
            tracing::warn!(run = %self.slot.run(), "the ledger may not know that the run has replied");
        }
    }

    /// Nothing else is in the state of a run without steps that anybody reads.
    async fn tell(&self, status: RunStatus, replied: bool) -> Result<Owned, StoreError> {
        let fields = [
            (resume::FINAL_STATUS.to_owned(), Value::from(status.as_str())),
            (REPLIED.to_owned(), Value::from(replied)),
        ];
        self.live.ledger().state(&self.slot.owner, &Map::from_iter(fields)).await
    }

    /// Hears what was left for the run up to now.
    pub async fn last_news(&self) {
        let heard = tokio::time::timeout(PATIENCE, self.live.flush_run(&self.slot)).await;
        if !matches!(heard, Ok(Ok(()))) {
            tracing::warn!(run = %self.slot.run(), "whether the ledger has the run is not known at its end");
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.live.forget(self.slot.run());
    }
}
