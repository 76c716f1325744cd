//! Vendor-independent replies from a fake vendor.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;

/// A reply that a test scripts.
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

/// A streamed reply's pace. Counts are in events.
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

/// A block in a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A block with text.
    Text(String),
    /// Text with a citation (Anthropic only; plain text elsewhere).
    Cited {
        /// The text as sent.
        text: String,
        /// The citation as an object.
        citation: Value,
    },
    /// Thinking with a signature (Anthropic only; `OpenAI`-compatible servers send it as
    /// reasoning).
    Thinking {
        /// The text that was thought.
        text: String,
        /// Proof that the text is unchanged.
        signature: String,
    },
    /// A tool call. The fake generates the id.
    Tool {
        /// Name of the tool.
        name: String,
        /// Arguments as a JSON value.
        input: Value,
    },
    /// A tool call with a verbatim argument text, valid JSON or not.
    RawTool {
        /// Name of the tool.
        name: String,
        /// Arguments as raw text.
        arguments: String,
    },
    /// Why the model refuses, which no content part has.
    Refusal(String),
    /// A block as the vendor's JSON (Anthropic only).
    Raw(Value),
    /// A block that starts as `start` and grows by `deltas`, for kinds from a later API (Anthropic
    /// only).
    Grown {
        /// The block as it starts.
        start: Value,
        /// Deltas that complete the block.
        deltas: Vec<Value>,
    },
}

/// Token usage that an answer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Input that no cache served.
    pub input: u64,
    /// Tokens in the output.
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

    /// Returns a reply with a single tool call.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::blocks(vec![Block::Tool {
            name: name.into(),
            input,
        }])
    }

    /// Returns these blocks. They determine the stop reason, unless [`Reply::stop`] sets another.
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

    /// Returns an error with this status. `kind` is the vendor's error type, such as
    /// `overloaded_error`.
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

    /// Sets the token usage.
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

    /// Calls `then` when a streamed reply's last event is sent.
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
