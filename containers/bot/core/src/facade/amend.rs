//! Edits and deletions of messages, for channels in which people can do both.

use ars_bot_ports::Refusal;
use ars_wire::idempotency::IdempotencyKey;

use super::Core;
use crate::{
    dispatch::{self, Amended},
    threads::{Amendment, Draft},
};

impl Core {
    /// Opens a message that a channel has accepted, so that it may change before its dispatch. Hold
    /// the draft until the message started a run, or was answered.
    pub fn open_draft(&self, key: &IdempotencyKey, author: &str) -> Draft {
        self.context.drafts().open(key, author)
    }

    /// Changes or withdraws a message that no model has read yet. The key is the message's
    /// idempotency key.
    ///
    /// # Errors
    /// The new text exceeds the limit of the run's unread follow-ups. The run reads the old one.
    pub async fn amend(
        &self,
        key: &IdempotencyKey,
        amendment: &Amendment,
    ) -> Result<Amended, Refusal> {
        let amended = dispatch::amend(&self.context, key, amendment).await;
        amended.map_err(|overload| {
            let refusal = overload.into();
            dispatch::count(&refusal);
            refusal
        })
    }
}
