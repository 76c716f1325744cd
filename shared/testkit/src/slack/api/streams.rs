//! `chat.startStream`, `chat.appendStream` and `chat.stopStream`.
//!
//! Not here: how a stream reads back (`shown`).

use serde_json::{Value, json};

use super::{
    answer::{Answer, Outcome},
    chat::MARKDOWN_MAX,
};
use crate::slack::{
    arguments::Arguments,
    blocks, render,
    state::{FakeMessage, Workspace},
};

/// The states that a chunk's task can have.
const TASK_STATES: [&str; 4] = ["pending", "in_progress", "complete", "error"];
/// Maximum characters in a chunk's title.
const TITLE_MAX: usize = 256;

pub(super) fn start(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let thread_ts = arguments.required("thread_ts")?;
    let is_direct = workspace.writable(&channel)?.is_im;
    if !workspace.allows_streams {
        return Err(Answer::error("channel_type_not_supported"));
    }
    workspace.check_thread(&channel, Some(&thread_ts))?;
    let is_plan = match arguments.text("task_display_mode").as_deref() {
        None | Some("timeline") => false,
        Some("plan") => true,
        Some(_) => return Err(Answer::error("invalid_arguments")),
    };
    if !is_direct {
        let user = arguments.text("recipient_user_id");
        let user = user.ok_or_else(|| Answer::error("missing_recipient_user_id"))?;
        if arguments.text("recipient_team_id").is_none() {
            return Err(Answer::error("missing_recipient_team_id"));
        }
        if !workspace.users.contains_key(user.as_ref()) {
            return Err(Answer::error("user_not_found"));
        }
    }
    let chunks = chunks(workspace, arguments)?;
    let message = FakeMessage {
        thread_ts: Some(thread_ts),
        text: markdown(&chunks),
        chunks,
        is_streaming: true,
        is_plan,
        ..workspace.own_message()
    };
    let message = workspace.post(&channel, message);
    Ok(json!({ "channel": channel, "ts": message.ts }))
}

pub(super) fn append(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let (channel, ts) = streaming(workspace, arguments)?;
    let message = workspace.message(&channel, &ts);
    if message.is_some_and(|message| message.is_stopped) {
        return Err(Answer::error("stopped_by_user"));
    }
    let chunks = chunks(workspace, arguments)?;
    if chunks.is_empty() {
        return Err(Answer::error("no_text"));
    }
    extend(workspace, &channel, &ts, chunks);
    Ok(json!({ "channel": channel, "ts": ts }))
}

pub(super) fn stop(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let (channel, ts) = streaming(workspace, arguments)?;
    let chunks = chunks(workspace, arguments)?;
    let blocks = arguments.json("blocks", "invalid_blocks_format")?;
    let blocks = blocks::check(workspace, &blocks)?;
    let message = extend(workspace, &channel, &ts, chunks);
    message.blocks = blocks;
    message.is_streaming = false;
    let message = workspace.message(&channel, &ts);
    let message = message.expect("the message was found before");
    let rendered = render::message(workspace, &channel, message);
    Ok(json!({ "channel": channel, "ts": ts, "message": rendered }))
}

/// Returns an open stream's channel and timestamp.
fn streaming(workspace: &Workspace, arguments: &Arguments) -> Result<(String, String), Answer> {
    let channel = arguments.required("channel")?;
    let ts = arguments.required("ts")?;
    workspace.writable(&channel)?;
    let message = workspace.message(&channel, &ts);
    let message = message.ok_or_else(|| Answer::error("message_not_found"))?;
    if !message.is_streaming {
        return Err(Answer::error("message_not_in_streaming_state"));
    }
    Ok((channel, ts))
}

/// Reads the chunks of a call; plain Markdown is one chunk.
fn chunks(workspace: &mut Workspace, arguments: &Arguments) -> Result<Vec<Value>, Answer> {
    let mut chunks = match arguments.json("chunks", "invalid_chunks")? {
        Value::Null => Vec::new(),
        Value::Array(chunks) => chunks,
        _ => return Err(Answer::error("invalid_chunks")),
    };
    if let Some(text) = arguments.text("markdown_text") {
        if arguments.has("chunks") {
            let code = "cannot_provide_both_markdown_text_and_chunks";
            return Err(Answer::error(code));
        }
        chunks.insert(0, json!({ "type": "markdown_text", "text": text }));
    }
    for chunk in &chunks {
        let has = |name: &str| chunk[name].as_str().is_some_and(|text| !text.is_empty());
        let has_title = has("title")
            && chunk["title"].as_str().map(|text| text.chars().count()) <= Some(TITLE_MAX);
        let is_valid = match chunk["type"].as_str() {
            Some("markdown_text") => has("text"),
            Some("plan_update") => has_title,
            Some("task_update") => {
                let state = chunk["status"].as_str().unwrap_or_default();
                has("id") && has_title && TASK_STATES.contains(&state)
            }
            Some("blocks") => blocks::check(workspace, &chunk["blocks"]).is_ok(),
            _ => false,
        };
        if !is_valid {
            return Err(Answer::error("invalid_chunks"));
        }
    }
    if markdown(&chunks).chars().count() > MARKDOWN_MAX {
        return Err(Answer::error("msg_too_long"));
    }
    Ok(chunks)
}

/// Returns all Markdown chunks as a single text.
fn markdown(chunks: &[Value]) -> String {
    let texts = chunks
        .iter()
        .filter(|chunk| chunk["type"] == "markdown_text");
    texts.filter_map(|chunk| chunk["text"].as_str()).collect()
}

fn extend<'a>(
    workspace: &'a mut Workspace,
    channel: &str,
    ts: &str,
    chunks: Vec<Value>,
) -> &'a mut FakeMessage {
    let message = workspace.message_mut(channel, ts);
    let message = message.expect("the message was found before");
    message.text.push_str(&markdown(&chunks));
    message.chunks.extend(chunks);
    message
}
