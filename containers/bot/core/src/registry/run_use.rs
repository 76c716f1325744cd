//! Counts a run's use as events are published. The backlog keeps only the newest events.

use ars_agent::Usage;
use ars_events::EventBody;
use serde_json::{Map, Value};

/// Name for a model call's span.
pub const MODEL_TURN: &str = "model.turn";

/// A run's use, counted from events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunUse {
    /// Number of agent turns.
    pub turns: u64,
    /// Number of tool calls.
    pub calls: u64,
    /// Tokens in the last model call, which fill the context window.
    pub context_tokens: u64,
    /// Tokens used by the run's own model.
    pub usage: Usage,
    /// Another model's call used tokens too.
    pub has_other_model: bool,
}

impl RunUse {
    /// Counts events as JSON.
    pub fn of_events(events: &[Value], model: Option<&str>) -> Self {
        let mut used = Self::default();
        events.iter().for_each(|event| used.add_json(event, model));
        used
    }

    /// Counts an event as JSON.
    pub(super) fn add_json(&mut self, event: &Value, model: Option<&str>) {
        match event["type"].as_str() {
            Some("tool_call") => self.calls += 1,
            Some("span_end") if event["name"] == MODEL_TURN => {
                self.add_turn(event["attrs"].as_object(), model);
            }
            _ => {}
        }
    }

    pub(super) fn add(&mut self, event: &EventBody, model: Option<&str>) {
        match event {
            EventBody::ToolCall { .. } => self.calls += 1,
            EventBody::SpanEnd { name, attrs, .. } if name == MODEL_TURN => {
                self.add_turn(attrs.as_ref(), model);
            }
            _ => {}
        }
    }

    fn add_turn(&mut self, attrs: Option<&Map<String, Value>>, model: Option<&str>) {
        let attr = |name: &str| {
            attrs
                .and_then(|attrs| attrs.get(name))
                .filter(|value| !value.is_null())
        };
        if attr("purpose").is_none() {
            self.turns += 1;
        }
        let Some(usage) = attr("usage") else { return };
        let tokens = |name: &str| usage[name].as_u64().unwrap_or_default();
        let usage = Usage {
            input_tokens: tokens("inputTokens"),
            output_tokens: tokens("outputTokens"),
            cache_read_tokens: tokens("cacheReadTokens"),
            cache_write_tokens: tokens("cacheWriteTokens"),
        };
        let Usage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
        } = usage;
        self.context_tokens = [
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
        ]
        .iter()
        .sum();
        if attr("model")
            .and_then(Value::as_str)
            .is_none_or(|name| Some(name) == model)
        {
            self.usage += usage;
        } else {
            self.has_other_model = true;
        }
    }
}
