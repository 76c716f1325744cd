//! The model port: one call of one model, streamed.

use std::{sync::Arc, time::Duration};

use ars_agent::{ModelTurn, ToolSpec, Turn, Usage};
use ars_types::{Effort, ModelRef};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// One model call.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system prompt; empty for none.
    pub system: &'a str,
    /// The tools on offer.
    pub tools: &'a [ToolSpec],
    /// False for a closing call: the tools stay described (providers insist when the conversation holds calls,
    /// and the prompt cache keeps) but must not be called.
    pub may_call_tools: bool,
    /// The conversation, oldest first, ending with a user turn.
    pub turns: &'a [Turn],
    /// Output limit in tokens.
    pub max_tokens: u32,
    /// How hard to think.
    pub effort: Option<Effort>,
}

/// Models by name.
pub trait Models: Send + Sync {
    /// The client that serves this model.
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider>;
}

/// A model of a provider that is not configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model's provider is not configured. The providers are: {known}.")]
pub struct UnknownProvider {
    /// The configured ones, for the requester.
    pub known: String,
}

/// What a model says while it still speaks.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelDelta {
    /// A piece of prose.
    Text(String),
    /// What the attempt under way has used so far; each such word replaces the one before.
    Usage(Usage),
    /// The provider was overloaded or unreachable; another attempt follows.
    Retrying {
        /// Attempts so far.
        attempt: u32,
        /// Wait before the next one.
        wait: Duration,
        /// It has too much to do, or allows no further requests for now.
        is_overload: bool,
    },
}

/// A configured provider.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Calls the model once, with the retries the provider's errors deserve, and returns the whole turn.
    ///
    /// `cancel` closes the connection at once and yields [`ModelErrorKind::Cancelled`].
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError>;

    /// A label shown wherever this model's words appear, when they are not a real model's (`rehearsal`).
    fn label(&self) -> Option<&str> {
        None
    }
}

/// A model call that failed for good.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelErrorKind,
    /// In words safe to show: never a key, never a header.
    pub message: String,
}

/// Kinds of failure, by what can be done about them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelErrorKind {
    /// The provider has too much to do.
    #[error("model overloaded")]
    Overloaded {
        /// The wait the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The key's quota is used up for now.
    #[error("model rate limit")]
    RateLimited {
        /// The wait the provider asked for.
        retry_after: Option<Duration>,
    },
    /// The key is missing or refused.
    #[error("model credentials refused")]
    Unauthorized,
    /// The provider refuses the request as it is.
    #[error("model request refused")]
    Invalid,
    /// The conversation no longer fits the model's window.
    #[error("context too long")]
    ContextTooLong,
    /// No connection, or one that broke.
    #[error("model unreachable")]
    Unreachable,
    /// The provider broke its own protocol, or ended the stream early.
    #[error("model protocol error")]
    Protocol,
    /// The run was stopped.
    #[error("cancelled")]
    Cancelled,
}

impl ModelErrorKind {
    /// Whether the provider would answer, were it less busy or the key less used.
    pub const fn is_overload(&self) -> bool {
        matches!(self, Self::Overloaded { .. } | Self::RateLimited { .. })
    }
}
