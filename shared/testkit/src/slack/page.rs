//! The page of a rehearsal: a person's view of the workspace, live, and what the person does.
//!
//! It needs the key from its link, because what a person writes makes the bot act.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::Body,
    http::{Response, header},
};
use futures::stream;
use serde_json::{Map, Value, json};

use super::{
    api::Answer,
    received::Received,
    render,
    shared::Shared,
    state::{FakeChannel, FakeMessage, Workspace},
};

/// The person who uses the page.
const PERSON: &str = "U0ADA";
/// Newest messages of a channel that the page shows.
const SHOWN: usize = 300;
/// Scripts and styles come from this server only, and nothing else is loaded.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Files by path, with their media types.
const FILES: [(&str, &str, &str); 6] = [
    (
        "/",
        "text/html",
        include_str!("../../assets/slack/page.html"),
    ),
    (
        "/page/style.css",
        "text/css",
        include_str!("../../assets/slack/style.css"),
    ),
    (
        "/page/page.js",
        "text/javascript",
        include_str!("../../assets/slack/page.js"),
    ),
    (
        "/page/dom.js",
        "text/javascript",
        include_str!("../../assets/slack/dom.js"),
    ),
    (
        "/page/markup.js",
        "text/javascript",
        include_str!("../../assets/slack/markup.js"),
    ),
    (
        "/page/blocks.js",
        "text/javascript",
        include_str!("../../assets/slack/blocks.js"),
    ),
];

/// Answers a request for the page, or returns `None` for other paths and without a rehearsal.
pub(super) fn answer(shared: &Arc<Shared>, received: &Received) -> Option<Response<Body>> {
    let key = shared.read(|workspace| workspace.page_key.clone())?;
    let file = FILES.iter().find(|(path, ..)| *path == received.path);
    if let Some((_, media_type, text)) = file {
        return Some(asset(media_type, text));
    }
    let action = received.path.strip_prefix("/page/")?;
    let mut query = form_urlencoded::parse(received.query.as_bytes());
    let is_allowed = received.header("x-page-key") == Some(&key)
        || query.any(|(name, value)| name == "key" && value == key);
    if !is_allowed {
        return Some(Answer::page(403, "the key is missing").into_response(None));
    }
    let body: Value = serde_json::from_slice(&received.body).unwrap_or_default();
    Some(match action {
        "changes" => changes(shared),
        "say" => done(shared.change(|workspace| say(workspace, &body))),
        "press" => done(shared.change(|workspace| press(workspace, &body))),
        _ => Answer::page(404, "no such page").into_response(None),
    })
}

fn asset(media_type: &str, text: &'static str) -> Response<Body> {
    Response::builder()
        .header(header::CONTENT_TYPE, format!("{media_type}; charset=utf-8"))
        .header(header::CONTENT_SECURITY_POLICY, POLICY)
        .header(header::CACHE_CONTROL, "no-cache")
        .header(header::REFERRER_POLICY, "no-referrer")
        .body(Body::from(text))
        .expect("fixed parts")
}

fn done(performed: Option<()>) -> Response<Body> {
    let (status, text) = match performed {
        Some(()) => (200, "done"),
        None => (400, "there is no such channel, message or button"),
    };
    Answer::page(status, text).into_response(None)
}

/// Returns the state now and after each change, as server-sent events.
fn changes(shared: &Arc<Shared>) -> Response<Body> {
    let mut changed = shared.changed.subscribe();
    changed.mark_changed();
    let start = (Arc::clone(shared), changed);
    let events = stream::unfold(start, |(shared, mut changed)| async move {
        changed.changed().await.ok()?;
        let event = format!("data: {}\n\n", shared.read(state));
        Some((Ok::<_, Infallible>(event), (shared, changed)))
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .header(header::CACHE_CONTROL, "no-cache")
        .body(Body::from_stream(events))
        .expect("fixed parts")
}

fn state(workspace: &Workspace) -> Value {
    let names: Map<String, Value> = workspace
        .users
        .values()
        .map(|user| (user.id.clone(), user.real_name.as_str().into()))
        .collect();
    let seen = workspace.channels.values().filter(|one| !one.is_archived);
    let channels: Vec<Value> = seen.map(|one| channel(workspace, one)).collect();
    json!({
        "bot": { "id": workspace.bot_user, "name": workspace.users[&workspace.bot_user].name }, "names": names,
        "isConnected": !workspace.sockets.open.is_empty(), "channels": channels,
    })
}

fn channel(workspace: &Workspace, channel: &FakeChannel) -> Value {
    let skipped = channel.messages.len().saturating_sub(SHOWN);
    let messages = channel.messages.iter().skip(skipped);
    let messages: Vec<Value> = messages
        .map(|one| message(workspace, channel, one))
        .collect();
    let mut statuses = Map::new();
    for status in workspace
        .statuses
        .iter()
        .filter(|one| one.channel == channel.id)
    {
        statuses.insert(status.thread_ts.clone(), status.status.as_str().into());
    }
    json!({
        "id": channel.id, "name": channel.name, "kind": channel.kind(), "messages": messages, "statuses": statuses,
    })
}

fn message(workspace: &Workspace, channel: &FakeChannel, message: &FakeMessage) -> Value {
    let mut rendered = render::message(workspace, &channel.id, message);
    rendered["isStreaming"] = message.is_streaming.into();
    rendered
}

/// Writes a message as the person, escaped as Slack's own clients do. The bot's name is a mention.
fn say(workspace: &mut Workspace, body: &Value) -> Option<()> {
    let channel = body["channel"].as_str()?;
    let thread = body["thread"].as_str();
    let is_known = workspace.channels.contains_key(channel)
        && thread.is_none_or(|ts| workspace.message(channel, ts).is_some());
    let text = body["text"].as_str().filter(|_| is_known)?;
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let name = format!("@{}", workspace.users[&workspace.bot_user].name);
    let mention = format!("<@{}>", workspace.bot_user);
    let message = FakeMessage {
        user: PERSON.to_owned(),
        text: text.replace(&name, &mention),
        thread_ts: thread.map(str::to_owned),
        ..FakeMessage::default()
    };
    workspace.post(channel, message);
    Some(())
}

fn press(workspace: &mut Workspace, body: &Value) -> Option<()> {
    let channel = body["channel"].as_str()?;
    let (ts, action) = (body["ts"].as_str()?, body["action"].as_str()?);
    workspace.send_press(channel, ts, action, PERSON)
}
