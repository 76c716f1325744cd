//! The Chat Completions API rules; a broken rule is a 400, as with the real API.

use axum::http::HeaderMap;
use serde_json::Value;

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// Describes every broken rule.
pub(super) fn check(headers: &HeaderMap, body: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut unless = |holds: bool, rule: String| {
        if !holds {
            broken.push(rule);
        }
    };
    let json = headers
        .get("content-type")
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    unless(json, "content-type: must be application/json".into());
    let bearer = headers
        .get("authorization")
        .is_none_or(|value| value.as_bytes().starts_with(b"Bearer "));
    unless(bearer, "authorization: must be a bearer token".into());
    unless(!text(&body["model"]).is_empty(), "model: missing".into());
    unless(
        body["stream_options"].is_null() || body["stream"] == true,
        "stream_options: only with stream".into(),
    );
    unless(
        !mentions_cache_control(body),
        "cache_control: unknown field".into(),
    );
    for tool in array(&body["tools"]) {
        let name = text(&tool["function"]["name"]);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let sound =
            tool["type"] == "function" && (1..=64).contains(&name.len()) && name.chars().all(plain);
        unless(
            sound,
            "tools: a function's name must match ^[a-zA-Z0-9_-]{1,64}$".into(),
        );
    }
    let choice = body["tool_choice"].is_null() || !array(&body["tools"]).is_empty();
    unless(choice, "tool_choice: only with tools".into());
    let messages = array(&body["messages"]);
    unless(!messages.is_empty(), "messages: empty".into());
    for (index, message) in messages.iter().enumerate() {
        for rule in check_message(message) {
            unless(false, format!("messages[{index}]: {rule}"));
        }
    }
    broken.extend(check_pairs(messages));
    broken
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn check_message(message: &Value) -> Vec<&'static str> {
    let mut broken = Vec::new();
    let role = text(&message["role"]);
    if !ROLES.contains(&role) {
        broken.push("unknown role");
    }
    let calls = array(&message["tool_calls"]);
    match &message["content"] {
        Value::String(_) => {}
        Value::Null if role == "assistant" && !calls.is_empty() => {}
        Value::Array(parts) if !parts.is_empty() => {
            broken.extend(parts.iter().filter_map(|part| check_part(role, part)));
        }
        _ => broken.push("content must be text or parts"),
    }
    for call in calls {
        let whole = call["type"] == "function" && !text(&call["id"]).is_empty();
        if !whole
            || text(&call["function"]["name"]).is_empty()
            || !call["function"]["arguments"].is_string()
        {
            broken.push("a tool call needs id, type, name and argument text");
        }
    }
    if role == "tool" && message["tool_call_id"].is_null() {
        broken.push("tool_call_id is missing");
    }
    broken
}

fn check_part(role: &str, part: &Value) -> Option<&'static str> {
    match text(&part["type"]) {
        "text" => None,
        "image_url" if role != "user" => Some("only a user may show images"),
        "image_url" if text(&part["image_url"]["url"]).is_empty() => {
            Some("image_url.url is missing")
        }
        "image_url" => None,
        "input_audio" | "file" if role == "user" => None,
        _ => Some("unknown kind of part"),
    }
}

/// Checks that tool messages with every result follow a call, and that every result has a call.
fn check_pairs(messages: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = text(&message["tool_call_id"]);
            match open.iter().position(|call| *call == id) {
                Some(found) => drop(open.remove(found)),
                None => broken.push(format!("messages[{index}]: answers no open tool call")),
            }
            continue;
        }
        if !open.is_empty() {
            broken.push(format!(
                "messages[{index}]: tool calls before it have no answer"
            ));
        }
        open = array(&message["tool_calls"])
            .iter()
            .map(|call| text(&call["id"]))
            .collect();
    }
    if !open.is_empty() {
        broken.push("messages: the conversation ends with unanswered tool calls".into());
    }
    broken
}

fn mentions_cache_control(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(mentions_cache_control),
        Value::Object(fields) => {
            fields.contains_key("cache_control") || fields.values().any(mentions_cache_control)
        }
        _ => false,
    }
}
