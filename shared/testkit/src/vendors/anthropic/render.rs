//! Renders Messages API responses: a single message, or the events in the stream.

use serde_json::{Value, json};

use crate::vendors::{
    reply::{Block, Tokens, pieces},
    server::Message,
};

/// Renders the whole message.
pub(super) fn whole(body: &Value, reply: &Message<'_>) -> Value {
    let content: Vec<Value> = content(reply)
        .map(|(index, block)| finished(block, reply.number, index))
        .collect();
    let mut whole = json!({
        "id": format!("msg_{}", reply.number), "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": stop_reason(reply), "stop_sequence": null,
        "usage": usage(reply.tokens, reply.tokens.output),
    });
    if let Some(details) = stop_details(reply) {
        whole["stop_details"] = details;
    }
    whole
}

/// Renders the stream's events.
pub(super) fn events(body: &Value, reply: &Message<'_>) -> Vec<String> {
    let mut opening = whole(body, reply);
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    opening["stop_details"] = Value::Null;
    opening["usage"] = usage(reply.tokens, 1);
    let mut events = vec![
        json!({"type": "message_start", "message": opening}),
        json!({"type": "ping"}),
    ];
    for (index, block) in content(reply) {
        let (start, deltas) = growth(block, reply.number, index);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let mut last = json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": {"output_tokens": reply.tokens.output},
    });
    if let Some(details) = stop_details(reply) {
        last["delta"]["stop_details"] = details;
    }
    events.push(last);
    events.push(json!({"type": "message_stop"}));
    events.iter().map(event).collect()
}

/// Renders a single server-sent event.
pub(super) fn event(data: &Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap_or_default()
    )
}

fn usage(tokens: Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input, "output_tokens": output,
        "cache_read_input_tokens": tokens.cache_read, "cache_creation_input_tokens": tokens.cache_write,
    })
}

fn stop_reason(reply: &Message<'_>) -> String {
    let calls = |block: &Block| matches!(block, Block::Tool { .. } | Block::RawTool { .. });
    let natural = match reply.refusal() {
        Some(_) => "refusal",
        None if reply.blocks.iter().any(calls) => "tool_use",
        None => "end_turn",
    };
    reply.stop.unwrap_or(natural).to_owned()
}

/// Returns the content blocks, with their positions.
fn content<'a>(reply: &'a Message<'_>) -> impl Iterator<Item = (usize, &'a Block)> {
    reply
        .blocks
        .iter()
        .filter(|block| !matches!(block, Block::Refusal(_)))
        .enumerate()
}

fn stop_details(reply: &Message<'_>) -> Option<Value> {
    reply
        .refusal()
        .map(|reason| json!({"type": "refusal", "category": "cyber", "explanation": reason}))
}

fn tool_use(name: &str, input: &Value, number: u64, index: usize) -> Value {
    json!({"type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": name, "input": input})
}

fn finished(block: &Block, number: u64, index: usize) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Cited { text, citation } => {
            json!({"type": "text", "text": text, "citations": [citation]})
        }
        Block::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::Tool { name, input } => tool_use(name, input, number, index),
        Block::RawTool { name, arguments } => tool_use(
            name,
            &serde_json::from_str(arguments).unwrap_or_else(|_| json!({})),
            number,
            index,
        ),
        Block::Raw(block) => block.clone(),
        Block::Grown { start, .. } => start.clone(),
        Block::Refusal(_) => Value::Null,
    }
}

/// Returns a block's initial form, and the deltas that complete it.
fn growth(block: &Block, number: u64, index: usize) -> (Value, Vec<Value>) {
    let texts = |text: &str| -> Vec<Value> {
        pieces(text)
            .into_iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect()
    };
    // The real API starts a call's arguments with an empty delta.
    let arguments = |text: &str| -> Vec<Value> {
        let pieces = std::iter::once(String::new()).chain(pieces(text));
        pieces
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect()
    };
    match block {
        Block::Text(text) => (json!({"type": "text", "text": ""}), texts(text)),
        Block::Cited { text, citation } => {
            let mut deltas = texts(text);
            deltas.push(json!({"type": "citations_delta", "citation": citation}));
            (json!({"type": "text", "text": "", "citations": []}), deltas)
        }
        Block::Thinking { text, signature } => {
            let thoughts = pieces(text).into_iter();
            let mut deltas: Vec<Value> = thoughts
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas,
            )
        }
        Block::Tool { name, input } if input == &json!({}) => {
            (tool_use(name, &json!({}), number, index), arguments(""))
        }
        Block::Tool { name, input } => (
            tool_use(name, &json!({}), number, index),
            arguments(&input.to_string()),
        ),
        Block::RawTool {
            name,
            arguments: text,
        } => (tool_use(name, &json!({}), number, index), arguments(text)),
        // A server tool's arguments are streamed like a client tool's.
        Block::Raw(raw) if raw["input"].is_object() => {
            let mut start = raw.clone();
            start["input"] = json!({});
            (start, arguments(&raw["input"].to_string()))
        }
        Block::Raw(raw) => (raw.clone(), Vec::new()),
        Block::Grown { start, deltas } => (start.clone(), deltas.clone()),
        Block::Refusal(_) => (Value::Null, Vec::new()),
    }
}
