//! Vendor-independent answers of a fake vendor.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) content: Content,
    pub(super) pace: Pace,
    pub(super) sent: Option<OnSent>,
}

/// Callback for the time when the last event is sent.
#[derive(Clone)]
pub(super) struct OnSent(pub(super) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for OnSent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnSent")
    }
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Message {
        blocks: Vec<Block>,
        stop: Option<String>,
        tokens: Tokens,
    },
    Failure {
        status: u16,
        kind: String,
        message: String,
        headers: Vec<(String, String)>,
    },
}

/// Pace of a streamed answer. Counts are of events.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pace {
    AtOnce,
    Every(Duration),
    EndAfter(usize),
    CutAfter(usize),
    HangAfter(usize),
    FailAfter {
        events: usize,
        kind: String,
        message: String,
    },
    /// No answer, not even a status.
    Silent,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// Text with a citation (Anthropic only; plain text elsewhere).
    Cited {
        /// The text.
        text: String,
        /// The citation object.
        citation: Value,
    },
    /// Thinking with its signature (Anthropic only; `OpenAI`-compatible servers send it as reasoning).
    Thinking {
        /// The thinking text.
        text: String,
        /// Proof that the text is unchanged.
        signature: String,
    },
    /// A tool call. The fake generates its id.
    Tool {
        /// Tool name.
        name: String,
        /// Arguments.
        input: Value,
    },
    /// A tool call with a verbatim argument text, valid JSON or not.
    RawTool {
        /// Tool name.
        name: String,
        /// Argument text.
        arguments: String,
    },
    /// The reason of a refusal, which no part of the content has.
    Refusal(String),
    /// A block as the vendor's JSON (Anthropic only).
    Raw(Value),
    /// A block that starts as `start` and grows by `deltas`, for kinds of a later API (Anthropic only).
    Grown {
        /// The block at its start.
        start: Value,
        /// The deltas.
        deltas: Vec<Value>,
    },
}

/// Token usage that an answer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Uncached input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Read from the prompt cache.
    pub cache_read: u64,
    /// Written to the prompt cache.
    pub cache_write: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            input: 12,
            output: 7,
            cache_read: 3,
            cache_write: 5,
        }
    }
}

impl Reply {
    /// Returns a text that ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks(vec![Block::Text(text.into())])
    }

    /// Returns one tool call.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::blocks(vec![Block::Tool {
            name: name.into(),
            input,
        }])
    }

    /// Returns these blocks. They determine the stop reason, unless [`Reply::stop`] sets one.
    pub fn blocks(blocks: Vec<Block>) -> Self {
        let content = Content::Message {
            blocks,
            stop: None,
            tokens: Tokens::default(),
        };
        Self {
            content,
            pace: Pace::AtOnce,
            sent: None,
        }
    }

    /// Returns an error of this status. `kind` is the vendor's error type, such as `overloaded_error`.
    pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        let kind = kind.into();
        let message = message.into();
        let content = Content::Failure {
            status,
            kind,
            message,
            headers: Vec::new(),
        };
        Self {
            content,
            pace: Pace::AtOnce,
            sent: None,
        }
    }

    /// Never answers, and keeps the connection open.
    pub fn silent() -> Self {
        Self {
            pace: Pace::Silent,
            ..Self::text("never sent")
        }
    }

    /// Adds a header to an error answer.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Content::Failure { headers, .. } = &mut self.content {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the stop reason, in the vendor's term.
    #[must_use]
    pub fn stop(mut self, reason: impl Into<String>) -> Self {
        if let Content::Message { stop, .. } = &mut self.content {
            *stop = Some(reason.into());
        }
        self
    }

    /// Sets the usage.
    #[must_use]
    pub fn tokens(mut self, spent: Tokens) -> Self {
        if let Content::Message { tokens, .. } = &mut self.content {
            *tokens = spent;
        }
        self
    }

    /// Waits this long before each event.
    #[must_use]
    pub fn every(self, pause: Duration) -> Self {
        Self {
            pace: Pace::Every(pause),
            ..self
        }
    }

    /// Calls `then` when the last event of a streamed answer is sent.
    #[must_use]
    pub fn when_sent(self, then: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            sent: Some(OnSent(Arc::new(then))),
            ..self
        }
    }

    /// Ends the stream cleanly after this many events, like a proxy that lost its upstream.
    #[must_use]
    pub fn end_after(self, events: usize) -> Self {
        Self {
            pace: Pace::EndAfter(events),
            ..self
        }
    }

    /// Resets the connection after this many events.
    #[must_use]
    pub fn cut_after(self, events: usize) -> Self {
        Self {
            pace: Pace::CutAfter(events),
            ..self
        }
    }

    /// Sends this many events and then stalls, keeping the connection open.
    #[must_use]
    pub fn hang_after(self, events: usize) -> Self {
        Self {
            pace: Pace::HangAfter(events),
            ..self
        }
    }

    /// Sends this many events and then the vendor's error event.
    #[must_use]
    pub fn fail_after(
        self,
        events: usize,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            pace: Pace::FailAfter {
                events,
                kind: kind.into(),
                message: message.into(),
            },
            ..self
        }
    }
}

/// Splits a text as a vendor might stream it, never within a character.
pub(super) fn pieces(text: &str) -> Vec<String> {
    const PIECE_CHARS: usize = 24;
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(PIECE_CHARS)
        .map(|piece| piece.iter().collect())
        .collect()
}
