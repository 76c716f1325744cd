//! Estimates a conversation's tokens before a provider counts them.
//!
//! The provider's count corrects the estimate (`limit::Measure`). Bytes stand for characters,
//! because texts in non-Latin scripts have more tokens per character and more bytes.

use serde_json::Value;

use crate::{Part, ToolContent, Turn};

/// Text bytes per token.
const BYTES_PER_TOKEN: u64 = 4;
/// Overhead of a part: kind and ids.
const PART_TOKENS: u64 = 8;
/// Bytes taken for a number in JSON.
const NUMBER_BYTES: u64 = 8;
/// Bytes around a string or between two values in JSON.
const PUNCTUATION_BYTES: u64 = 3;
/// Tokens per image. Vendors scale larger images down to about this.
pub const IMAGE_TOKENS: u64 = 1_600;
/// Tokens for a PDF of a few pages. Its size in bytes does not indicate the page count.
pub const DOCUMENT_TOKENS: u64 = 10_000;

/// Estimates the tokens in these turns.
pub fn estimate_turns(turns: &[Turn]) -> u64 {
    turns.iter().map(turn).sum()
}

/// Estimates the tokens in a text.
pub fn estimate_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

pub(super) fn turn(turn: &Turn) -> u64 {
    estimate_parts(&turn.parts)
}

pub(crate) fn estimate_parts(parts: &[Part]) -> u64 {
    parts.iter().map(part).sum()
}

fn part(part: &Part) -> u64 {
    let body = match part {
        Part::Text { text, .. } => estimate_text(text),
        Part::Image { .. } => IMAGE_TOKENS,
        Part::Document {
            media_type, data, ..
        } => document(media_type, data),
        Part::ToolCall { name, input, .. } => {
            estimate_text(name) + json_bytes(input).div_ceil(BYTES_PER_TOKEN)
        }
        Part::ToolResult {
            content: pieces, ..
        } => content(pieces),
        Part::Opaque { block, .. } => json_bytes(block).div_ceil(BYTES_PER_TOKEN),
    };
    PART_TOKENS + body
}

pub(super) fn content(content: &[ToolContent]) -> u64 {
    let pieces = content.iter().map(|piece| match piece {
        ToolContent::Text { text } => estimate_text(text),
        ToolContent::Image { .. } => IMAGE_TOKENS,
        ToolContent::Document { media_type, data } => document(media_type, data),
    });
    pieces.sum()
}

/// A text counts as text, less the third that base64 adds.
fn document(media_type: &str, data: &str) -> u64 {
    if media_type.starts_with("text/") {
        (data.len() as u64 / 4 * 3).div_ceil(BYTES_PER_TOKEN)
    } else {
        DOCUMENT_TOKENS
    }
}

fn json_bytes(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => NUMBER_BYTES,
        Value::String(text) => text.len() as u64 + PUNCTUATION_BYTES,
        Value::Array(items) => {
            items
                .iter()
                .map(|item| json_bytes(item) + PUNCTUATION_BYTES)
                .sum::<u64>()
                + PUNCTUATION_BYTES
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| key.len() as u64 + 2 * PUNCTUATION_BYTES + json_bytes(value))
                .sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Role;

    fn estimate_turn(parts: Vec<Part>) -> u64 {
        estimate_turns(&[Turn {
            role: Role::User,
            parts,
        }])
    }

    #[test]
    fn four_bytes_of_text_are_a_token() {
        assert_eq!(
            [
                estimate_text(""),
                estimate_text("abcd"),
                estimate_text("abcde")
            ],
            [0, 1, 2]
        );
        assert_eq!(
            estimate_turn(vec![Part::text("a".repeat(400))]),
            100 + PART_TOKENS
        );
    }

    #[test]
    fn only_text_files_cost_by_their_bytes() {
        let image = |data: &str| Part::Image {
            media_type: "image/png".into(),
            data: data.into(),
        };
        assert_eq!(
            estimate_turn(vec![image("A")]),
            estimate_turn(vec![image(&"A".repeat(1_000_000))])
        );
        let document = ToolContent::Document {
            media_type: "application/pdf".into(),
            data: "A".repeat(1_000_000),
        };
        let result = Part::ToolResult {
            call_id: "c".into(),
            ok: true,
            content: vec![document],
        };
        assert_eq!(estimate_turn(vec![result]), DOCUMENT_TOKENS + PART_TOKENS);
        let text = Part::Document {
            media_type: "text/plain".into(),
            data: "A".repeat(16_000),
            name: None,
        };
        assert_eq!(estimate_turn(vec![text]), 3_000 + PART_TOKENS);
    }

    #[test]
    fn arguments_and_opaque_blocks_count_as_json() {
        let long = "x".repeat(4_000);
        let call = |input| Part::ToolCall {
            call_id: "c".into(),
            name: "write_file".into(),
            input,
            extra: serde_json::Map::new(),
        };
        assert!(estimate_turn(vec![call(json!({ "content": long }))]) >= 1_000);
        assert!(estimate_turn(vec![call(json!({ "content": [1, null, { "a": true }] }))]) < 50);
        let block = json!({ "type": "thinking", "thinking": long });
        assert!(
            estimate_turn(vec![Part::Opaque {
                api: "anthropic".into(),
                block
            }]) >= 1_000
        );
    }
}
