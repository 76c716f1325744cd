//! Renders Chat Completions API responses: a single completion, or the chunks in the stream.

use serde_json::{Value, json};

use crate::vendors::{
    reply::{Block, Tokens, pieces},
    server::Message,
};

/// Creation time in every response. No test depends on it.
const CREATED: u64 = 1_700_000_000;

/// Renders the whole completion.
pub(super) fn whole(body: &Value, reply: &Message<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let texts: String = reply.blocks.iter().filter_map(prose).collect();
    if !texts.is_empty() {
        message["content"] = json!(texts);
    }
    if let Some(reason) = reply.refusal() {
        message["refusal"] = json!(reason);
    }
    let calls: Vec<Value> = calls(reply)
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": id(reply), "object": "chat.completion", "created": CREATED, "model": body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)}],
        "usage": usage(reply.tokens),
    })
}

/// Renders the stream's chunks, and the end marker.
pub(super) fn events(body: &Value, reply: &Message<'_>) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": id(reply), "object": "chat.completion.chunk", "created": CREATED, "model": body["model"],
            "choices": choices, "usage": usage,
        })
    };
    let delta = |delta: Value, finish: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]),
            Value::Null,
        )
    };
    let mut chunks = vec![delta(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    for block in reply.blocks {
        if let Block::Thinking { text, .. } = block {
            let thoughts = pieces(text).into_iter();
            chunks.extend(
                thoughts.map(|piece| delta(json!({"reasoning_content": piece}), Value::Null)),
            );
        }
        let text = prose(block).unwrap_or_default();
        chunks.extend(
            pieces(text)
                .into_iter()
                .map(|piece| delta(json!({"content": piece}), Value::Null)),
        );
    }
    let refusal = pieces(reply.refusal().unwrap_or_default()).into_iter();
    chunks.extend(refusal.map(|piece| delta(json!({"refusal": piece}), Value::Null)));
    for (index, (id, name, arguments)) in calls(reply).enumerate() {
        let opening = json!({"tool_calls": [{
            "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""},
        }]});
        chunks.push(delta(opening, Value::Null));
        for piece in pieces(&arguments) {
            let more = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            chunks.push(delta(more, Value::Null));
        }
    }
    chunks.push(delta(json!({}), json!(finish_reason(reply))));
    if body["stream_options"]["include_usage"] == json!(true) {
        chunks.push(chunk(json!([]), usage(reply.tokens)));
    }
    chunks
        .iter()
        .map(event)
        .chain([String::from("data: [DONE]\n\n")])
        .collect()
}

/// Renders a single server-sent event.
pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn id(reply: &Message<'_>) -> String {
    format!("chatcmpl-{}", reply.number)
}

fn prose(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) | Block::Cited { text, .. } => Some(text),
        _ => None,
    }
}

fn calls<'a>(reply: &'a Message<'_>) -> impl Iterator<Item = (String, &'a str, String)> {
    let number = reply.number;
    reply
        .blocks
        .iter()
        .enumerate()
        .filter_map(move |(index, block)| {
            let id = format!("call_{number}_{index}");
            match block {
                Block::Tool { name, input } => Some((id, name.as_str(), input.to_string())),
                Block::RawTool { name, arguments } => Some((id, name.as_str(), arguments.clone())),
                _ => None,
            }
        })
}

fn finish_reason<'a>(reply: &'a Message<'_>) -> &'a str {
    let natural = if calls(reply).next().is_some() {
        "tool_calls"
    } else {
        "stop"
    };
    reply.stop.unwrap_or(natural)
}

fn usage(tokens: Tokens) -> Value {
    let prompt = tokens.input + tokens.cache_read;
    json!({
        "prompt_tokens": prompt, "completion_tokens": tokens.output, "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    })
}
