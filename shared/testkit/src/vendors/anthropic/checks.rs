//! The Messages API rules that a client can break. A broken rule is a 400, as with the real API.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use serde_json::Value;

/// Maximum number of blocks with `cache_control` in a request.
const CACHE_MARKS: usize = 4;
const TOP_LEVEL: &str = "model max_tokens messages system tools tool_choice stream thinking output_config \
    metadata stop_sequences temperature top_p top_k service_tier container mcp_servers context_management \
    cache_control inference_geo";
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

pub(super) fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// Describes every broken rule.
pub(super) fn check(headers: &HeaderMap, body: &Value, issued: &[Value]) -> Vec<String> {
    let mut broken = Broken(Vec::new());
    check_headers(headers, &mut broken);
    check_top_level(body, &mut broken);
    let tools = check_tools(body, &mut broken);
    let messages = array(&body["messages"]);
    broken.unless(
        !messages.is_empty(),
        "messages: at least one message is required",
    );
    broken.unless(
        messages.first().is_none_or(|first| first["role"] == "user"),
        "messages: the first is not `user`",
    );
    for (index, message) in messages.iter().enumerate() {
        check_message(index, message, issued, &mut broken);
    }
    check_pairs(messages, tools, &mut broken);
    let marks =
        count_marks(&body["system"]) + count_marks(&body["tools"]) + count_marks(&body["messages"]);
    broken.unless(
        marks <= CACHE_MARKS,
        &format!("cache_control: {marks} marks, at most {CACHE_MARKS} are allowed"),
    );
    broken.0
}

struct Broken(Vec<String>);

impl Broken {
    fn unless(&mut self, holds: bool, rule: &str) {
        if !holds {
            self.0.push(rule.to_owned());
        }
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn check_headers(headers: &HeaderMap, broken: &mut Broken) {
    let key = headers.contains_key("x-api-key") || headers.contains_key("authorization");
    broken.unless(key, "x-api-key: header is required");
    broken.unless(
        headers.contains_key("anthropic-version"),
        "anthropic-version: header is required",
    );
    let json = headers
        .get("content-type")
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    broken.unless(json, "content-type: must be application/json");
}

fn check_top_level(body: &Value, broken: &mut Broken) {
    for name in body
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
    {
        broken.unless(
            TOP_LEVEL.split(' ').any(|known| known == name),
            &format!("{name}: extra inputs are not permitted"),
        );
    }
    broken.unless(!text(&body["model"]).is_empty(), "model: field required");
    broken.unless(
        body["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0),
        "max_tokens: field required",
    );
    match &body["system"] {
        Value::Null | Value::String(_) => {}
        blocks => {
            for block in array(blocks) {
                let solid = block["type"] == "text" && !text(&block["text"]).trim().is_empty();
                broken.unless(solid, "system: text content blocks must be non-empty");
            }
        }
    }
    let effort = &body["output_config"]["effort"];
    if !effort.is_null() {
        broken.unless(
            EFFORTS.contains(&text(effort)),
            "output_config.effort: not one of its words",
        );
        let haiku = text(&body["model"]).contains("haiku");
        broken.unless(!haiku, "This model does not support the effort parameter.");
    }
}

fn check_tools(body: &Value, broken: &mut Broken) -> bool {
    let mut names = BTreeSet::new();
    for tool in array(&body["tools"]) {
        let name = text(&tool["name"]);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let sound = (1..=128).contains(&name.len()) && name.chars().all(plain);
        broken.unless(sound, "tools: a name must match ^[a-zA-Z0-9_-]{1,128}$");
        broken.unless(names.insert(name), "tools: names must be unique");
        let client_tool = tool["type"].is_null() || tool["type"] == "custom";
        let schema = tool["input_schema"]["type"] == "object" || !client_tool;
        broken.unless(schema, "tools: input_schema must be of type object");
    }
    !names.is_empty()
}

fn check_message(index: usize, message: &Value, issued: &[Value], broken: &mut Broken) {
    let at = format!("messages.{index}");
    let role = text(&message["role"]);
    broken.unless(
        role == "user" || role == "assistant",
        &format!("{at}: role must be user or assistant"),
    );
    if let Some(plain) = message["content"].as_str() {
        return broken.unless(
            !plain.trim().is_empty(),
            &format!("{at}: content must be non-empty"),
        );
    }
    broken.unless(
        !array(&message["content"]).is_empty(),
        &format!("{at}: content must be non-empty"),
    );
    for block in array(&message["content"]) {
        check_block(&at, role, block, broken);
        if is_thinking(block) {
            broken.unless(
                role == "assistant",
                &format!("{at}: thinking belongs to the assistant"),
            );
            let unchanged = issued.contains(block);
            broken.unless(
                unchanged,
                &format!("{at}: `thinking` blocks cannot be modified"),
            );
        }
    }
}

fn check_block(at: &str, role: &str, block: &Value, broken: &mut Broken) {
    match text(&block["type"]) {
        "" => broken.unless(false, &format!("{at}: a content block has no type")),
        "text" => {
            let solid = !text(&block["text"]).trim().is_empty();
            broken.unless(
                solid,
                &format!("{at}: text content blocks must contain non-whitespace text"),
            );
        }
        "image" => check_source(at, &block["source"], &IMAGE_TYPES, broken),
        "document" => check_source(
            at,
            &block["source"],
            &["application/pdf", "text/plain"],
            broken,
        ),
        "tool_use" => {
            broken.unless(
                role == "assistant",
                &format!("{at}: tool_use belongs to the assistant"),
            );
            broken.unless(
                !text(&block["id"]).is_empty(),
                &format!("{at}: tool_use.id: field required"),
            );
            broken.unless(
                !text(&block["name"]).is_empty(),
                &format!("{at}: tool_use.name: field required"),
            );
            broken.unless(
                block["input"].is_object(),
                &format!("{at}: tool_use.input: must be a dictionary"),
            );
        }
        "tool_result" => {
            broken.unless(
                role == "user",
                &format!("{at}: tool_result belongs to the user"),
            );
            for piece in array(&block["content"]) {
                let kind = text(&piece["type"]);
                let known = matches!(kind, "text" | "image" | "document");
                broken.unless(known, &format!("{at}: tool_result.content: unknown kind"));
                check_block(at, role, piece, broken);
            }
        }
        _ => {}
    }
    let mark = &block["cache_control"];
    broken.unless(
        mark.is_null() || mark["type"] == "ephemeral",
        &format!("{at}: cache_control must be ephemeral"),
    );
    broken.unless(
        mark.is_null() || !is_thinking(block),
        &format!("{at}: cache_control on thinking"),
    );
}

fn check_source(at: &str, source: &Value, media: &[&str], broken: &mut Broken) {
    if source["type"] == "base64" || source["type"] == "text" {
        broken.unless(
            media.contains(&text(&source["media_type"])),
            &format!("{at}: source.media_type"),
        );
        broken.unless(
            !text(&source["data"]).is_empty(),
            &format!("{at}: source.data: field required"),
        );
    } else {
        let elsewhere = source["type"] == "url" || source["type"] == "file";
        broken.unless(elsewhere, &format!("{at}: source.type"));
    }
}

/// Checks that every call has a result where the next message starts, and each result a call.
fn check_pairs(messages: &[Value], tools: bool, broken: &mut Broken) {
    let ids = |message: &Value, kind: &str, field: &str| -> Vec<String> {
        let blocks = array(&message["content"])
            .iter()
            .filter(|block| block["type"] == kind);
        blocks.map(|block| text(&block[field]).to_owned()).collect()
    };
    let mut calls: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages.{index}");
        let answered = ids(message, "tool_result", "tool_use_id");
        for id in &answered {
            broken.unless(
                calls.contains(id),
                &format!("{at}: unexpected tool_use_id in tool_result blocks"),
            );
        }
        for id in &calls {
            let once = answered.iter().filter(|answer| *answer == id).count() == 1;
            broken.unless(
                once,
                &format!("{at}: tool_use ids were found without one tool_result each"),
            );
        }
        let blocks = array(&message["content"]);
        let ordered = blocks
            .iter()
            .take(answered.len())
            .all(|block| block["type"] == "tool_result");
        broken.unless(
            ordered,
            &format!("{at}: tool_result blocks must come first"),
        );
        calls = ids(message, "tool_use", "id");
        let described = tools || (calls.is_empty() && answered.is_empty());
        broken.unless(
            described,
            "tools: requests with tool_use or tool_result blocks must define tools",
        );
    }
    broken.unless(
        calls.is_empty(),
        "messages: the conversation ends with unanswered tool_use blocks",
    );
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_marks).sum(),
        Value::Object(fields) => {
            let own = usize::from(
                fields
                    .get("cache_control")
                    .is_some_and(|mark| !mark.is_null()),
            );
            let inner = fields
                .iter()
                .filter(|(name, _)| matches!(name.as_str(), "content"));
            own + inner.map(|(_, value)| count_marks(value)).sum::<usize>()
        }
        _ => 0,
    }
}
