//! Conversation turns in a provider-neutral form without loss.
//!
//! A block that the service does not interpret (thinking, server tools, kinds of a later API) is a [`Part::Opaque`] and
//! returns to its provider as the same JSON value.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The requester, and tool results.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The speaker.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
}

impl Turn {
    /// A turn of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::text(text)],
        }
    }
}

/// One part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Part {
    /// Prose.
    Text {
        /// The prose.
        text: String,
        /// Fields of the provider's block beyond type and text (such as citations), sent back with it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// An image, base64.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A document, base64.
    Document {
        /// Such as `application/pdf`.
        media_type: String,
        /// Base64.
        data: String,
        /// The file's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Pairs the call with its result.
        call_id: String,
        /// The tool; may name one that does not exist.
        name: String,
        /// The arguments. A `Value::String` holds argument text that was not valid JSON.
        input: Value,
        /// Fields of the provider's block beyond the known ones, sent back with it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// The result of a tool.
    ToolResult {
        /// The call answered.
        call_id: String,
        /// False when the tool failed.
        ok: bool,
        /// The content.
        content: Vec<ToolContent>,
    },
    /// A provider's block that the service does not interpret.
    Opaque {
        /// The kind of API that made it (`anthropic`); other providers leave it out.
        api: String,
        /// The block.
        block: Value,
    },
}

impl Part {
    /// Plain prose.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            extra: Map::new(),
        }
    }
}

/// One piece of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ToolContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, base64.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A document, base64.
    Document {
        /// Such as `application/pdf`.
        media_type: String,
        /// Base64.
        data: String,
    },
}

/// The description of a tool for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its purpose and use.
    pub description: String,
    /// JSON Schema of the arguments (an object).
    pub input_schema: Value,
}

/// The answer of one model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTurn {
    /// The turn, in the provider's order.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub stop: StopReason,
    /// Its tokens.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It had finished.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// It hit its output limit.
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

/// Tokens of one call or a whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Fresh input.
    pub input_tokens: u64,
    /// Output.
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
