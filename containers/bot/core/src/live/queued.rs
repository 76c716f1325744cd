//! A waiting run's stored request (docs/reference/ledger.md#queue).
//!
//! It suffices for another process to start the run. It is removed once the run has stored a step.

use std::sync::Arc;

use ars_agent::Role;
use ars_auth::TokenMap;
use ars_bot_ports::{
    Attachment, AttachmentError, Channel, ChannelEvent, Choices, HistoryTurn, IncomingMessage,
    ReplyError,
};
use ars_events::InputSource;
use ars_types::{ChannelTraits, Effort, ModelRef, RefName, ThreadKey};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Meta;
use crate::{
    attachments::{self, StoredAttachment},
    error::Refused,
    threads::{Note, SenderFault},
};

/// Maximum size of a stored request. A listing of live runs has all of them.
const QUEUED_REQUEST_MAX_BYTES: usize = 65_536;

/// A waiting run's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedRequest {
    /// The message, with directives and sender.
    message: Note,
    /// Link to the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The earlier turns that the model sees, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<StoredTurn>,
    /// The message's and thread's choices.
    #[serde(default)]
    choices: StoredChoices,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredTurn {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_assistant: bool,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<StoredAttachment>,
}

impl StoredTurn {
    fn from_turn(turn: &HistoryTurn) -> Self {
        let by_assistant = turn.role == Role::Assistant;
        let files: &[Attachment] = if by_assistant { &[] } else { &turn.attachments };
        Self {
            by_assistant,
            text: turn.text.clone(),
            attachments: attachments::stored(files),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct StoredChoices {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_ref: Option<RefName>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    must_continue: bool,
}

impl QueuedRequest {
    /// Returns a request's stored form, or `None` if it is too large to wait.
    pub(crate) fn stored(
        message: &IncomingMessage,
        history: &[HistoryTurn],
        choices: &Choices,
    ) -> Option<Value> {
        let Choices {
            agent,
            model,
            effort,
            repository,
            git_ref,
            must_continue,
        } = choices.clone();
        let request = Self {
            message: Note::from_message(message, &message.text),
            url: message
                .source
                .as_ref()
                .and_then(|source| source.url.clone()),
            history: history.iter().map(StoredTurn::from_turn).collect(),
            choices: StoredChoices {
                agent,
                model,
                effort,
                repository,
                git_ref,
                must_continue,
            },
        };
        let bytes = serde_json::to_vec(&request).ok()?;
        if bytes.len() > QUEUED_REQUEST_MAX_BYTES {
            return None;
        }
        serde_json::to_value(request).ok()
    }

    /// Reads the stored form.
    pub(crate) fn of_state(stored: Option<&Value>) -> Option<Self> {
        Self::deserialize(stored?).ok()
    }

    /// Returns the message for a run with this meta, and a channel with the history. The message's
    /// files are read again.
    ///
    /// # Errors
    /// The sender's grants are unknown, the token is gone, or the thread is invalid.
    pub(crate) async fn reopen(
        self,
        meta: &Meta,
        io: Arc<dyn Channel>,
        tokens: Option<&TokenMap>,
    ) -> Result<(IncomingMessage, Arc<dyn Channel>), Refused> {
        let actor = self
            .message
            .sender(tokens, &meta.channel_id)
            .map_err(|fault| match fault {
                SenderFault::Unknown => Refused::Channel,
                SenderFault::TokenRemoved => Refused::TokenRemoved,
            })?;
        let StoredChoices {
            agent,
            model,
            effort,
            repository,
            git_ref,
            must_continue,
        } = self.choices;
        let source = InputSource {
            url: self.url,
            channel: Some(meta.channel_id.clone()),
            user: Some(meta.user_id.clone()),
        };
        let thread_key = ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Channel)?;
        let mut text = self.message.text;
        let files = attachments::restore(&*io, &mut text, &self.message.attachments).await;
        let message = IncomingMessage {
            actor,
            channel_id: meta.channel_id.clone(),
            thread_key,
            visibility: meta.channel_visibility,
            text,
            attachments: files,
            received_at: meta.received_at,
            choices: Choices {
                agent,
                model,
                effort,
                repository,
                git_ref,
                must_continue,
            },
            source: Some(source),
            // The author may change it until the run reads it.
            idempotency: self.message.key,
            is_confirmed: false,
        };
        let history = self.history;
        Ok((message, Arc::new(WithHistory { io, history })))
    }
}

/// A reopened channel with the request's history.
struct WithHistory {
    io: Arc<dyn Channel>,
    history: Vec<StoredTurn>,
}

#[async_trait]
impl Channel for WithHistory {
    fn traits(&self) -> ChannelTraits {
        self.io.traits()
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        let mut turns = Vec::with_capacity(self.history.len());
        for turn in &self.history {
            let mut text = turn.text.clone();
            // Their senders wait for no answer, so a lost file is no notice.
            let (attachments, _) =
                attachments::read_again(&*self.io, &mut text, &turn.attachments).await;
            turns.push(HistoryTurn {
                role: if turn.by_assistant {
                    Role::Assistant
                } else {
                    Role::User
                },
                text,
                attachments,
            });
        }
        turns
    }

    async fn read_attachment(&self, reference: &str) -> Result<Arc<[u8]>, AttachmentError> {
        self.io.read_attachment(reference).await
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        self.io.send(event).await
    }
}

#[cfg(test)]
mod tests {
    use ars_auth::{Actor, Grants};
    use ars_bot_ports::NobodyListens;
    use ars_types::{Platform, Visibility};
    use serde_json::json;

    use super::*;

    fn message(text: &str) -> IncomingMessage {
        IncomingMessage {
            actor: Actor::new("http:ann", Grants::default()),
            channel_id: "http:ops".into(),
            thread_key: ThreadKey::new(Platform::Http, "ops", "t1"),
            visibility: Visibility::Machine,
            text: text.into(),
            attachments: Vec::new(),
            received_at: 5,
            choices: Choices::default(),
            source: None,
            idempotency: None,
            is_confirmed: false,
        }
    }

    #[tokio::test]
    async fn stored_request_is_the_same_message() {
        let history = [
            HistoryTurn {
                role: Role::User,
                text: "a".into(),
                attachments: Vec::new(),
            },
            HistoryTurn {
                role: Role::Assistant,
                text: "b".into(),
                attachments: Vec::new(),
            },
        ];
        let choices = Choices {
            agent: Some("coding".into()),
            ..Choices::default()
        };
        let stored =
            QueuedRequest::stored(&message("agent:coding hi"), &history, &choices).unwrap();
        let meta = json!({ "agent": "coding", "model": "a/b", "channelId": "http:ops", "userId": "http:ann",
            "threadKey": "http:ops:t1", "channelVisibility": "machine", "label": "l", "receivedAt": 5 });
        let meta = Meta::of_row(meta.as_object().unwrap()).unwrap();
        let request = QueuedRequest::of_state(Some(&stored)).unwrap();
        let (reopened, io) = request
            .reopen(&meta, Arc::new(NobodyListens), None)
            .await
            .unwrap();
        assert_eq!(
            (reopened.text.as_str(), reopened.received_at),
            ("agent:coding hi", 5)
        );
        assert_eq!(
            (reopened.actor, reopened.thread_key),
            (message("").actor, message("").thread_key)
        );
        assert_eq!(
            (reopened.choices, io.history().await),
            (choices, history.to_vec())
        );
    }

    #[test]
    fn large_request_is_not_stored() {
        let text = "x".repeat(QUEUED_REQUEST_MAX_BYTES);
        assert_eq!(
            QueuedRequest::stored(&message(&text), &[], &Choices::default()),
            None
        );
    }
}
