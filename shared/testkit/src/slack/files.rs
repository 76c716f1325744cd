//! Uploads to a one-time address, and downloads with the bot's token.

use serde_json::json;

use super::{
    api::Answer,
    received::Received,
    state::{Call, Workspace},
};

/// The page that a download without a valid token ends at.
const SIGN_IN: &str = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>";

/// Answers a request outside the API.
pub(super) fn answer(workspace: &mut Workspace, received: &Received) -> Answer {
    let parts: Vec<&str> = received.path.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["upload", "v1", id] => upload(workspace, id, received),
        ["files-pri", place, rest @ ..] if !rest.is_empty() => download(workspace, place, received),
        _ => Answer::page(404, "<html>There's been a glitch</html>"),
    }
}

fn upload(workspace: &mut Workspace, id: &str, received: &Received) -> Answer {
    let media_type = received.header("content-type").unwrap_or_default();
    let bytes = content(media_type, &received.body);
    record(
        workspace,
        "upload",
        json!({ "file": id, "bytes": bytes.len() }),
    );
    let Some(file) = workspace.files.get_mut(id).filter(|one| !one.is_complete) else {
        return Answer::page(404, "file not found");
    };
    if bytes.len() != file.announced {
        return Answer::page(400, "the size is not the announced one");
    }
    file.bytes = bytes.to_vec();
    Answer::page(200, &format!("OK - {}", bytes.len()))
}

fn download(workspace: &mut Workspace, place: &str, received: &Received) -> Answer {
    let token = received.header("authorization");
    let token = token.and_then(|value| value.strip_prefix("Bearer "));
    let is_known = token == Some(workspace.tokens.bot.as_str()) && !workspace.tokens.is_revoked;
    let is_allowed = is_known && workspace.has_scope("files:read");
    let (_, id) = place.split_once('-').unwrap_or_default();
    let arguments = json!({ "file": id, "isAllowed": is_allowed });
    record(workspace, "download", arguments);
    let file = workspace.files.get(id);
    match file {
        _ if !is_allowed => Answer::page(200, SIGN_IN),
        Some(file) => Answer::bytes(&file.mimetype, file.bytes.clone()),
        None => Answer::page(404, "<html>There's been a glitch</html>"),
    }
}

fn record(workspace: &mut Workspace, method: &str, arguments: serde_json::Value) {
    let at = workspace.clock.now();
    workspace.calls.push(Call {
        method: method.to_owned(),
        arguments,
        at,
        is_decided: true,
        error: None,
    });
}

/// Returns the uploaded bytes: the body, or the first part of a multipart form.
fn content<'a>(media_type: &str, body: &'a [u8]) -> &'a [u8] {
    let Some((_, boundary)) = media_type.split_once("boundary=") else {
        return body;
    };
    let end = format!("\r\n--{}", boundary.trim_matches('"'));
    let find = |within: &[u8], text: &[u8]| within.windows(text.len()).position(|at| at == text);
    let start = find(body, b"\r\n\r\n").map_or(0, |at| at + 4);
    let length = find(&body[start..], end.as_bytes()).unwrap_or(body.len() - start);
    &body[start..start + length]
}
