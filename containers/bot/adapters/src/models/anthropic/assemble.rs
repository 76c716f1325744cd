//! Assembles a message from stream events.
//!
//! Blocks stay in the JSON they arrived in. Only prose and calls to our tools are parsed;
//! everything else (thinking, server tools, kinds from a later API) is returned to the API
//! unchanged.

use std::collections::BTreeMap;

use ars_agent::{ModelTurn, Part, StopReason, Usage};
use ars_bot_ports::ModelError;
use serde_json::{Map, Value};

use super::{
    super::failure::{protocol, reported},
    api::API,
};

/// Effect that an event has.
#[derive(Debug, PartialEq)]
pub(super) enum StreamStep {
    /// There is nothing to show.
    Quiet,
    /// The message's usage so far.
    Usage(Usage),
    /// A piece of prose.
    Text(String),
    /// The message is complete.
    Done(ModelTurn),
}

/// A message that is still incomplete.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    started: bool,
    blocks: BTreeMap<u64, PartialBlock>,
    stop: Option<StopReason>,
    usage: Usage,
}

#[derive(Debug, Default)]
struct PartialBlock {
    block: Map<String, Value>,
    arguments: String,
}

impl Assembly {
    /// Applies an event. Unknown events and fields are ignored.
    pub(super) fn take(&mut self, mut event: Value) -> Result<StreamStep, ModelError> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.started = true;
                self.count(&event["message"]["usage"]);
                return Ok(StreamStep::Usage(self.usage));
            }
            "content_block_start" => {
                let index = index(&event)?;
                let Value::Object(block) = event["content_block"].take() else {
                    return Err(protocol("a content block is not an object"));
                };
                self.blocks.insert(
                    index,
                    PartialBlock {
                        block,
                        ..PartialBlock::default()
                    },
                );
            }
            "content_block_delta" => {
                let growing = self.blocks.get_mut(&index(&event)?);
                let growing =
                    growing.ok_or_else(|| protocol("a delta of a block that never started"))?;
                return Ok(growing.grow(event["delta"].take()));
            }
            "message_delta" => {
                self.count(&event["usage"]);
                if let Some(word) = event["delta"]["stop_reason"].as_str() {
                    let explanation = event["delta"]["stop_details"]["explanation"].as_str();
                    self.stop = Some(stop_reason(word, explanation));
                }
                return Ok(StreamStep::Usage(self.usage));
            }
            "message_stop" => return std::mem::take(self).finish().map(StreamStep::Done),
            "error" => return Err(reported(&event)),
            _ => {}
        }
        Ok(StreamStep::Quiet)
    }

    /// Updates the usage. Counts are running totals; an absent field keeps the previous value.
    fn count(&mut self, usage: &Value) {
        for (name, total) in [
            ("input_tokens", &mut self.usage.input_tokens),
            ("output_tokens", &mut self.usage.output_tokens),
            ("cache_read_input_tokens", &mut self.usage.cache_read_tokens),
            (
                "cache_creation_input_tokens",
                &mut self.usage.cache_write_tokens,
            ),
        ] {
            if let Some(count) = usage[name].as_u64() {
                *total = count;
            }
        }
    }

    fn finish(self) -> Result<ModelTurn, ModelError> {
        let stop = self
            .stop
            .filter(|_| self.started)
            .ok_or_else(|| protocol("the message has no stop reason"))?;
        let parts: Result<_, _> = self
            .blocks
            .into_values()
            .map(PartialBlock::finish)
            .collect();
        Ok(ModelTurn {
            parts: parts?,
            stop,
            usage: self.usage,
        })
    }
}

impl PartialBlock {
    fn grow(&mut self, delta: Value) -> StreamStep {
        let Value::Object(mut delta) = delta else {
            return StreamStep::Quiet;
        };
        let kind = delta.shift_remove("type").unwrap_or_default();
        match kind.as_str().unwrap_or_default() {
            "input_json_delta" => {
                let more = delta.get("partial_json").and_then(Value::as_str);
                self.arguments.push_str(more.unwrap_or_default());
            }
            "citations_delta" => {
                let citation = delta.shift_remove("citation").unwrap_or_default();
                extend(
                    &mut self.block,
                    "citations".into(),
                    Value::Array(vec![citation]),
                );
            }
            "text_delta" => {
                let text = delta
                    .get("text")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                self.extend(delta);
                return StreamStep::Text(text);
            }
            _ => self.extend(delta),
        }
        StreamStep::Quiet
    }

    /// Appends a delta of any other kind: text fields extend the block's fields with the same name.
    fn extend(&mut self, delta: Map<String, Value>) {
        for (name, more) in delta {
            extend(&mut self.block, name, more);
        }
    }

    fn finish(mut self) -> Result<Part, ModelError> {
        if !self.arguments.trim().is_empty() {
            let parsed = serde_json::from_str(&self.arguments);
            let input =
                parsed.unwrap_or_else(|_| Value::String(std::mem::take(&mut self.arguments)));
            self.block.insert("input".into(), input);
        }
        match self.block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = take_text(&mut self.block, "text")?;
                self.block.shift_remove("type");
                Ok(Part::Text {
                    text,
                    extra: self.block,
                })
            }
            Some("tool_use") => {
                let (call_id, name) = (
                    take_text(&mut self.block, "id")?,
                    take_text(&mut self.block, "name")?,
                );
                let input = self
                    .block
                    .shift_remove("input")
                    .filter(|input| !input.is_null());
                let input = input.unwrap_or_else(|| Map::new().into());
                self.block.shift_remove("type");
                Ok(Part::ToolCall {
                    call_id,
                    name,
                    input,
                    extra: self.block,
                })
            }
            _ => Ok(Part::Opaque {
                api: API.into(),
                block: Value::Object(self.block),
            }),
        }
    }
}

fn index(event: &Value) -> Result<u64, ModelError> {
    event["index"]
        .as_u64()
        .ok_or_else(|| protocol("a content block has no index"))
}

fn extend(block: &mut Map<String, Value>, name: String, more: Value) {
    match (block.get_mut(&name), more) {
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (_, more) => drop(block.insert(name, more)),
    }
}

fn take_text(block: &mut Map<String, Value>, name: &str) -> Result<String, ModelError> {
    match block.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(protocol("a content block lacks a field")),
    }
}

fn stop_reason(word: &str, explanation: Option<&str>) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        // Both limits cut the answer, which the requester must learn.
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal(explanation.map(str::to_owned)),
        "pause_turn" => StopReason::PauseTurn,
        other => StopReason::Other(other.into()),
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
