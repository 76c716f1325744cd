//! A waiting run's stored request (docs/reference/ledger.md#queue).
//!
//! It suffices for another process to start the run. It is removed once the run has stored a step.

use std::sync::Arc;

use ars_agent::Role;
use ars_auth::TokenMap;
use ars_bot_ports::{Channel, ChannelEvent, Choices, HistoryTurn, IncomingMessage, ReplyError};
use ars_events::InputSource;
use ars_types::{ChannelTraits, Effort, ModelRef, RefName, ThreadKey};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Meta;
use crate::{
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
        let turns = history.iter().map(|turn| StoredTurn {
            by_assistant: turn.role == Role::Assistant,
            text: turn.text.clone(),
        });
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
            history: turns.collect(),
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

    /// Returns the message for a run with this meta, and a channel with the history.
    ///
    /// # Errors
    /// The sender's grants are unknown, the token is gone, or the thread is invalid.
    pub(crate) fn reopen(
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
        let message = IncomingMessage {
            actor,
            channel_id: meta.channel_id.clone(),
            thread_key: ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Channel)?,
            visibility: meta.channel_visibility,
            text: self.message.text,
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
            idempotency: None,
        };
        let turns = self.history.into_iter().map(|turn| HistoryTurn {
            role: if turn.by_assistant {
                Role::Assistant
            } else {
                Role::User
            },
            text: turn.text,
        });
        Ok((
            message,
            Arc::new(WithHistory {
                io,
                history: turns.collect(),
            }),
        ))
    }
}

/// A reopened channel with the request's history.
struct WithHistory {
    io: Arc<dyn Channel>,
    history: Vec<HistoryTurn>,
}

#[async_trait]
impl Channel for WithHistory {
    fn traits(&self) -> ChannelTraits {
        self.io.traits()
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        self.history.clone()
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
            received_at: 5,
            choices: Choices::default(),
            source: None,
            idempotency: None,
        }
    }

    #[tokio::test]
    async fn stored_request_is_the_same_message() {
        let history = [
            HistoryTurn {
                role: Role::User,
                text: "a".into(),
            },
            HistoryTurn {
                role: Role::Assistant,
                text: "b".into(),
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
