//! A channel's events: messages to the requester, and the request's progress.

use ars_types::{RunId, RunStatus};
use ars_wire::{
    ErrorCode,
    idempotency::{FirstUse, IdempotencyKey},
};

use crate::{Notice, Refusal, texts};

/// An event that the core sends to a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelEvent {
    /// An answer to the requester.
    Reply(String),
    /// An answer with a file. A channel without files sends the content.
    File {
        /// Message above the file.
        message: String,
        /// The file to send.
        file: TextFile,
    },
    /// The request is refused.
    Refused(Refusal),
    /// A message that is neither an answer nor a refusal.
    Notice(Notice),
    /// The request is rejected because the process shuts down; the refusal follows. No work was
    /// started, and the next process accepts the request when it is sent again.
    RejectedByShutdown,
    /// An earlier request had the message's idempotency key; no effect and no reply follow.
    Repeated(FirstUse),
    /// A short status line.
    Status(String),
    /// The message was a command; the reply follows.
    CommandAnswered {
        /// The failure code, if it failed.
        failure: Option<ErrorCode>,
    },
    /// A model received the follow-up with this idempotency key.
    FollowUpRead(IdempotencyKey),
    /// The command waits until the requester confirms it. Nothing was invoked. Only a channel that
    /// can confirm receives it.
    Confirm(Confirmation),
    /// A run was created.
    RunStarted(RunId),
    /// This process continues a run that another process began. Events, a reply and `RunFinished` follow.
    RunContinued(RunId),
    /// The run's cost in millionths of a dollar, if it is known, before `RunFinished`.
    RunCost(u64),
    /// The run is finished in the registry; the reply follows.
    RunFinished {
        /// Id of the run.
        run: RunId,
        /// How the run ended.
        status: RunStatus,
    },
    /// Another process continues the run, and cannot reach this channel.
    /// Neither `RunFinished` nor the run's reply follows, so that a channel with a waiting caller answers it.
    RunMoved {
        /// Id of the run.
        run: RunId,
        /// The run's page: a URL or, without a public base URL, a path.
        page: String,
    },
}

/// A destructive command that waits for the requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The requester's actor id, the only one who may confirm it.
    pub user: String,
    /// The message that runs the command once it is confirmed.
    pub text: String,
    /// The command with its arguments, without known secrets.
    pub command: String,
    /// What the command does, in a sentence.
    pub about: &'static str,
}

/// A text that is sent as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// File name with extension.
    pub name: &'static str,
    /// Text of the file.
    pub content: String,
}

impl ChannelEvent {
    /// Returns a message's text on a channel without other forms. A progress event has none.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Reply(text) => Some(text),
            Self::File { file, .. } => Some(file.content),
            Self::Refused(refusal) => Some(texts::refusal(&refusal)),
            Self::Notice(notice) => Some(texts::notice(&notice)),
            Self::Confirm(confirmation) => {
                let Confirmation { command, about, .. } = confirmation;
                Some(format!("`{command}` needs a confirmation: {about}"))
            }
            Self::RejectedByShutdown
            | Self::Repeated(_)
            | Self::Status(_)
            | Self::CommandAnswered { .. }
            | Self::FollowUpRead(_)
            | Self::RunStarted(_)
            | Self::RunContinued(_)
            | Self::RunCost(_)
            | Self::RunFinished { .. }
            | Self::RunMoved { .. } => None,
        }
    }
}
