//! Encodes a model call as a Messages API request body, with prompt-cache breakpoints.
//!
//! The API allows four breakpoints. They are set on the last tool, on the system prompt, and on the
//! last block in each of the last two messages, so that each call finds the prefix that the
//! previous call cached.

use ars_agent::{Part, Role, ToolContent, ToolSpec};
use ars_bot_ports::ModelRequest;
use serde_json::{Map, Value, json};

use super::{
    super::conversation::{Message, messages, object, omitted, text_of},
    api::API,
    effort,
};

/// The image types that the API accepts.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// Block kinds for cache breakpoints: the API rejects breakpoints on thinking, and other kinds are
/// unknown.
const MARKABLE: [&str; 5] = ["text", "image", "document", "tool_use", "tool_result"];
/// Text for a tool result without content: the API requires a text.
const NO_OUTPUT: &str = "(no output)";

/// Returns a model call's request body.
pub(super) fn encode(request: &ModelRequest<'_>) -> Value {
    let mut body =
        json!({"model": request.model, "max_tokens": request.max_tokens, "stream": true});
    if let Some(effort) = effort::accepted(request.model, request.effort) {
        body["output_config"] = json!({"effort": effort});
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
        if !request.may_call_tools {
            body["tool_choice"] = json!({"type": "none"});
        }
        body["tools"] = Value::Array(tools);
    }
    if !request.system.trim().is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        mark(&mut system);
        body["system"] = json!([system]);
    }
    let spoken = messages(request.turns);
    let mut messages: Vec<Value> = spoken.iter().filter_map(message).collect();
    for message in messages.iter_mut().rev().take(2) {
        mark_last_block(message);
    }
    body["messages"] = Value::Array(messages);
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema})
}

fn message(message: &Message<'_>) -> Option<Value> {
    let blocks: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| block(part))
        .collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!blocks.is_empty()).then(|| json!({"role": role, "content": blocks}))
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text { text, extra } => with(json!({"type": "text", "text": text}), extra),
        Part::Image { media_type, data } => image(media_type, data),
        Part::Document {
            media_type,
            data,
            name,
        } => document(media_type, data, name.as_deref()),
        Part::ToolCall {
            call_id,
            name,
            input,
            extra,
        } => with(
            json!({"type": "tool_use", "id": call_id, "name": name, "input": object(input)}),
            extra,
        ),
        Part::ToolResult {
            call_id,
            ok,
            content,
        } => tool_result(call_id, *ok, content),
        Part::Opaque { api, block } if api == API => block.clone(),
        Part::Opaque { .. } => return None,
    })
}

fn with(mut block: Value, extra: &Map<String, Value>) -> Value {
    if let Value::Object(fields) = &mut block {
        fields.extend(
            extra
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    block
}

fn tool_result(call_id: &str, ok: bool, content: &[ToolContent]) -> Value {
    let pieces = content.iter().filter_map(|piece| match piece {
        ToolContent::Text { text } if text.trim().is_empty() => None,
        ToolContent::Text { text } => Some(json!({"type": "text", "text": text})),
        ToolContent::Image { media_type, data } => Some(image(media_type, data)),
        ToolContent::Document { media_type, data } => Some(document(media_type, data, None)),
    });
    let mut content: Vec<Value> = pieces.collect();
    if content.is_empty() {
        content.push(json!({"type": "text", "text": NO_OUTPUT}));
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": call_id, "content": content});
    if !ok {
        block["is_error"] = json!(true);
    }
    block
}

fn image(media_type: &str, data: &str) -> Value {
    if IMAGES.contains(&media_type) {
        json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
    } else {
        json!({"type": "text", "text": omitted(media_type, None)})
    }
}

/// Encodes a document: a PDF as base64, a text file as plain text. The API accepts no other kinds.
fn document(media_type: &str, data: &str, name: Option<&str>) -> Value {
    let source = if media_type == "application/pdf" {
        Some(json!({"type": "base64", "media_type": media_type, "data": data}))
    } else {
        let text = text_of(media_type, data);
        text.map(|text| json!({"type": "text", "media_type": "text/plain", "data": text}))
    };
    let Some(source) = source else {
        return json!({"type": "text", "text": omitted(media_type, name)});
    };
    let mut block = json!({"type": "document", "source": source});
    if let Some(name) = name {
        block["title"] = json!(name);
    }
    block
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn mark_last_block(message: &mut Value) {
    let blocks = message["content"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .rev();
    let markable = |block: &&mut Value| {
        block["type"]
            .as_str()
            .is_some_and(|kind| MARKABLE.contains(&kind))
    };
    if let Some(block) = blocks.into_iter().find(markable) {
        mark(block);
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
