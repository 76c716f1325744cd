//! The model port: one call of one model, streamed.

use std::{sync::Arc, time::Duration};

use ars_agent::{ModelTurn, ToolSpec, Turn, Usage};
use ars_types::{Effort, ModelRef};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{ModelError, UnknownProvider};

/// One model call.
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
    /// The reasoning effort.
    pub effort: Option<Effort>,
}

/// Models by name.
pub trait Models: Send + Sync {
    /// Returns the client that serves this model.
    fn client(&self, model: &ModelRef) -> Result<Arc<dyn ModelClient>, UnknownProvider>;
}

/// A streamed part of a model's turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelDelta {
    /// A piece of text.
    Text(String),
    /// The usage of the current attempt so far. Each value replaces the previous one.
    Usage(Usage),
    /// The call failed, and another attempt follows.
    Retrying {
        /// Attempts so far.
        attempt: u32,
        /// Wait before the next one.
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
    /// No connection, or one that broke.
    #[error("cannot be reached")]
    Unreachable,
    /// The provider answered with an error of its own.
    #[error("failed to answer")]
    Failed,
    /// The provider ended its answer early or broke its protocol.
    #[error("broke off its answer")]
    BrokenAnswer,
}

/// A configured provider.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Calls the model once, retrying by the kind of the provider's errors, and returns the whole turn.
    ///
    /// `cancel` closes the connection at once and yields [`ModelErrorKind::Cancelled`](crate::ModelErrorKind).
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
