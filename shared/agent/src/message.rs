//! Conversation turns in a lossless, provider-neutral form.
//!
//! A block that the service does not interpret (thinking, server tools, kinds from a later API) is
//! a [`Part::Opaque`] and returns to its provider as the same JSON value.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The requester, and tool results.
    User,
    /// The model speaks in this turn.
    Assistant,
}

/// A turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Who speaks in this turn.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
}

impl Turn {
    /// Creates a turn with a single text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::text(text)],
        }
    }
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Part {
    /// Prose, in either direction.
    Text {
        /// The prose itself, as plain text.
        text: String,
        /// Fields of the provider's block beyond type and text (such as citations), sent back with it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// An image as base64 data.
    Image {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The file's bytes in base64.
        data: String,
    },
    /// A document as base64 data.
    Document {
        /// The media type, such as `application/pdf`.
        media_type: String,
        /// The file's bytes in base64.
        data: String,
        /// The file's name, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Pairs a call with the result.
        call_id: String,
        /// The tool name; the model may name a tool that does not exist.
        name: String,
        /// The arguments. A `Value::String` holds argument text that was not valid JSON.
        input: Value,
        /// Unknown fields of the provider's block, sent back with it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// The result from a tool.
    ToolResult {
        /// The call that this result answers.
        call_id: String,
        /// False when the tool failed.
        ok: bool,
        /// What the tool returned, piece by piece.
        content: Vec<ToolContent>,
    },
    /// A provider's block that the service does not interpret.
    Opaque {
        /// The API kind that produced it (`anthropic`); other providers leave it out.
        api: String,
        /// The block as the provider sent it.
        block: Value,
    },
}

impl Part {
    /// Creates a prose part without extra fields.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            extra: Map::new(),
        }
    }
}

/// A piece of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ToolContent {
    /// A piece of text.
    Text {
        /// The text itself, uninterpreted.
        text: String,
    },
    /// An image as base64 data.
    Image {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The file's bytes in base64.
        data: String,
    },
    /// A document as base64 data.
    Document {
        /// The media type, such as `application/pdf`.
        media_type: String,
        /// The file's bytes in base64.
        data: String,
    },
}

/// Describes a tool to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The tool's name, by which the model calls it.
    pub name: String,
    /// What the tool does and when to use it.
    pub description: String,
    /// JSON Schema for the arguments (an object).
    pub input_schema: Value,
}

/// A model's answer to a single call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTurn {
    /// The turn, in the provider's order.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Tokens that the call used.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model had finished the answer.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// The model hit the output limit.
    MaxTokens,
    /// It declined; the reason is set if the provider sends it apart from the answer.
    Refusal(Option<String>),
    /// The provider wants the same turn continued (a paused server tool).
    PauseTurn,
    /// A word this version does not know.
    Other(String),
}

impl StopReason {
    /// The word on events and in records.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal(_) => "refusal",
            Self::PauseTurn => "pause_turn",
            Self::Other(word) => word,
        }
    }
}

/// Tokens used by a call or a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens that no prompt cache served.
    pub input_tokens: u64,
    /// Tokens that the model produced.
    pub output_tokens: u64,
    /// Input read from the provider's prompt cache.
    pub cache_read_tokens: u64,
    /// Input written to the provider's prompt cache.
    pub cache_write_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
    }
}
