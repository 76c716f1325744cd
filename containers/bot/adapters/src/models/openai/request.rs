//! A model call in genai's form.

use ars_agent::{Part, Role, ToolContent, ToolSpec};
use ars_bot_ports::ModelRequest;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort, Tool,
    ToolCall, ToolChoice, ToolResponse,
};
use serde_json::json;

use super::super::conversation::{Message, messages, object, omitted, text_of};

/// Models that reject tools on Chat Completions unless reasoning is off (`reasoning_effort: none`).
const NO_TOOLS_WHILE_REASONING: [&str; 2] = ["gpt-5.6", "gpt-6"];

/// A call in genai's types.
pub(super) struct WireCall {
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
}

/// Encodes a request as a genai call.
pub(super) fn encode(request: &ModelRequest<'_>) -> WireCall {
    let mut chat = ChatRequest::new(Vec::new());
    if !request.system.trim().is_empty() {
        chat = chat.with_system(request.system);
    }
    for message in messages(request.turns) {
        match message.role {
            Role::Assistant => chat.messages.extend(assistant(&message)),
            Role::User => chat.messages.extend(user(&message)),
        }
    }
    let has_tools = !request.tools.is_empty();
    let newest = NO_TOOLS_WHILE_REASONING
        .iter()
        .any(|family| request.model.starts_with(family));
    // By default genai parses an effort from names such as `qwen-max`; a budget disables that and is not sent. The name
    // is set again, because genai cuts it at `::`.
    let effort = if has_tools && newest {
        ReasoningEffort::Zero
    } else {
        ReasoningEffort::Budget(0)
    };
    let mut options = ChatOptions::default()
        .with_max_tokens(request.max_tokens)
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_reasoning_effort(effort)
        .with_extra_body(json!({"model": request.model}));
    if has_tools {
        chat = chat.with_tools(request.tools.iter().map(tool));
        if !request.may_call_tools {
            options = options.with_tool_choice(ToolChoice::None);
        }
    }
    WireCall { chat, options }
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.as_str())
        .with_description(spec.description.as_str())
        .with_schema(spec.input_schema.clone())
}

fn assistant(message: &Message<'_>) -> Option<ChatMessage> {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(ContentPart::from_text(text)),
        Part::ToolCall {
            call_id,
            name,
            input,
            ..
        } => Some(ContentPart::ToolCall(ToolCall {
            call_id: call_id.clone(),
            fn_name: name.clone(),
            fn_arguments: object(input),
            thought_signatures: None,
        })),
        Part::Image { .. }
        | Part::Document { .. }
        | Part::ToolResult { .. }
        | Part::Opaque { .. } => None,
    });
    let parts: Vec<ContentPart> = parts.collect();
    (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
}

/// Encodes a user's message: a message per tool result, then the results' images, then the text.
fn user(message: &Message<'_>) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    let mut parts = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult {
                call_id,
                ok,
                content,
            } => {
                let (text, images) = result(call_id, *ok, content);
                messages.push(ChatMessage::tool(MessageContent::from(ToolResponse::new(
                    call_id, text,
                ))));
                parts.extend(images);
            }
            Part::Text { text, .. } => parts.push(ContentPart::from_text(text)),
            Part::Image { media_type, data } => parts.push(image(media_type, data)),
            Part::Document {
                media_type,
                data,
                name,
            } => parts.push(ContentPart::from_text(document(
                media_type,
                data,
                name.as_deref(),
            ))),
            Part::ToolCall { .. } | Part::Opaque { .. } => {}
        }
    }
    if !parts.is_empty() {
        messages.push(ChatMessage::user(MessageContent::from_parts(parts)));
    }
    messages
}

/// Returns a result as text, and the images for the user's message.
fn result(call_id: &str, ok: bool, content: &[ToolContent]) -> (String, Vec<ContentPart>) {
    let mut lines: Vec<String> = Vec::new();
    let mut images = Vec::new();
    // The API has no field for a tool's failure.
    if !ok {
        lines.push("[the tool failed]".into());
    }
    for piece in content {
        match piece {
            ToolContent::Text { text } => lines.push(text.clone()),
            ToolContent::Image { media_type, data } => {
                lines.push("[image: see the next message]".into());
                images.push(ContentPart::from_text(format!(
                    "[image from the result of {call_id}]"
                )));
                images.push(image(media_type, data));
            }
            ToolContent::Document { media_type, data } => {
                lines.push(document(media_type, data, None));
            }
        }
    }
    (lines.join("\n"), images)
}

/// Returns a text file as text, and a note for any other document, which the API does not accept.
fn document(media_type: &str, data: &str, name: Option<&str>) -> String {
    match text_of(media_type, data) {
        Some(text) => match name {
            Some(name) => format!("[file {name}]\n{text}"),
            None => text,
        },
        None => omitted(media_type, name),
    }
}

fn image(media_type: &str, data: &str) -> ContentPart {
    if media_type.starts_with("image/") {
        ContentPart::from_binary_base64(media_type, data, None)
    } else {
        ContentPart::from_text(omitted(media_type, None))
    }
}
