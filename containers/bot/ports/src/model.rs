//! The model port: a single streamed model call.

use std::{sync::Arc, time::Duration};

use ars_agent::{ModelTurn, ToolSpec, Turn, Usage};
use ars_types::{Effort, ModelRef};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{ModelError, UnknownProvider};

/// A single model call.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// The system prompt; empty for none.
    pub system: &'a str,
    /// The tools on offer.
    pub tools: &'a [ToolSpec],
    /// `false` for a closing call, in which the described tools must not be called.
    /// Providers require the descriptions when the conversation holds calls, and the prompt cache depends on them.
    pub may_call_tools: bool,
    /// The conversation, oldest first, ending with a user turn.
    pub turns: &'a [Turn],
    /// Output limit in tokens.
    pub max_tokens: u32,
    /// Reasoning effort, if set.
    pub effort: Option<Effort>,
}

/// Model clients by name.
pub trait Models: Send + Sync {
    /// Returns the client that serves this model.
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider>;
}

/// A streamed part of a model's turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelDelta {
    /// A text fragment, in order.
    Text(String),
    /// The current attempt's usage so far. Each value replaces the previous value.
    Usage(Usage),
    /// The call failed, and another attempt follows.
    Retrying {
        /// Number of attempts so far.
        attempt: u32,
        /// Wait before the next attempt.
        wait: Duration,
        /// Why the attempt failed.
        cause: RetryCause,
    },
}

/// Why a model call is retried. Displayed after "the model".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RetryCause {
    /// The provider is overloaded or limits the rate.
    #[error("is busy")]
    Overload,
    /// No connection, or a broken connection.
    #[error("cannot be reached")]
    Unreachable,
    /// The provider answered with its own error.
    #[error("failed to answer")]
    Failed,
    /// The provider ended the response early or broke the protocol.
    #[error("broke off its answer")]
    BrokenAnswer,
}

/// Client for a configured provider.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Calls the model once, retrying by the provider's error kind, and returns the whole turn.
    ///
    /// `cancel` closes the connection at once and yields
    /// [`ModelErrorKind::Cancelled`](crate::ModelErrorKind).
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError>;

    /// Returns a label to show with this model's text when it is not a real model's (`rehearsal`).
    fn label(&self) -> Option<&str> {
        None
    }
}
