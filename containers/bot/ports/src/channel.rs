//! The channel port: the way back to the requester.

use ars_agent::Role;
use ars_types::{RunId, RunStatus};
use ars_wire::{ErrorCode, idempotency::FirstUse};
use async_trait::async_trait;

use crate::{Notice, Refusal, ReplyError, texts};

/// The channel a request came through.
#[async_trait]
pub trait ChannelIo: Send + Sync {
    /// Sends `text` to the requester. The run survives a failure.
    async fn reply(&self, text: &str) -> Result<(), ReplyError>;

    /// Sends a message with a file; the default, for channels without files, replies with the content.
    async fn reply_with_file(&self, _message: &str, file: &TextFile<'_>) -> Result<(), ReplyError> {
        self.reply(file.content).await
    }

    /// Sends a refusal. The default form is its text.
    async fn refused(&self, refusal: &Refusal) -> Result<(), ReplyError> {
        self.reply(&texts::refusal(refusal)).await
    }

    /// Sends a notice. The default form is its text.
    async fn notify(&self, notice: &Notice) -> Result<(), ReplyError> {
        self.reply(&texts::notice(notice)).await
    }

    /// Returns the earlier turns of the thread, oldest first.
    async fn history(&self) -> Vec<HistoryTurn>;

    /// Called before the reply to a request that is rejected because the process shuts down.
    /// No work was started, and the next process accepts the request when it is sent again.
    fn rejected_by_shutdown(&self) {}

    /// Called when an earlier request had the message's idempotency key; no effect and no reply follow.
    fn repeats(&self, _first: &FirstUse) {}

    /// Returns whether the requester's run may wait for a free slot.
    /// A channel with a waiting caller returns `false`, and the request is refused.
    fn may_wait(&self) -> bool {
        true
    }

    /// Returns whether messages of the channel may have text of strangers, such as the name of a check.
    fn has_untrusted_text(&self) -> bool {
        false
    }

    /// Returns whether a reply replaces the earlier one, so that it may be repeated.
    fn replaces_replies(&self) -> bool {
        false
    }

    /// Shows a short status line. Most channels ignore it.
    fn status(&self, _text: &str) {}

    /// Called before the reply to a message that is a command, with the code of its failure if it failed.
    /// A channel that only forwards replies ignores it.
    fn command_answered(&self, _failure: Option<ErrorCode>) {}

    /// Called when a run is created.
    fn run_started(&self, _id: &RunId) {}

    /// Called with the run's cost in millionths of a dollar, if it is known, before `run_finished`.
    /// A channel with a fixed receipt ignores it.
    fn run_cost(&self, _microusd: u64) {}

    /// Called once when the run is finished in the registry, before its reply.
    fn run_finished(&self, _id: &RunId, _status: RunStatus) {}

    /// Called once when another process continues the run.
    /// That process cannot reach this channel, so neither `run_finished` nor the run's reply follows. A channel with a
    /// waiting caller answers it with the run's page, a URL or, without a public base URL, its path.
    fn run_continues_elsewhere(&self, _id: &RunId, _page: &str) {}
}

/// A text that is sent as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFile<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its content.
    pub content: &'a str,
}

/// One earlier turn of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryTurn {
    /// The speaker.
    pub role: Role,
    /// The text, which may be empty.
    pub text: String,
}
