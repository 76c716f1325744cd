//! `conversations.info`, `conversations.list` and `users.conversations`.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Outcome},
    pages,
    scopes::require,
};
use crate::slack::{
    arguments::Arguments,
    render,
    state::{FakeChannel, Workspace},
};

/// Channels in a page without a limit.
const DEFAULT: usize = 100;
/// Kind of the cursor.
const CURSOR: &str = "next_channel";

pub(super) fn info(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let id = arguments.required("channel")?;
    let channel = workspace.visible(&id)?;
    require(workspace, scope(channel))?;
    Ok(json!({ "channel": render::channel(channel) }))
}

pub(super) fn list(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    page(workspace, arguments, |channel| {
        channel.is_member || !channel.is_private
    })
}

pub(super) fn joined(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    page(workspace, arguments, |channel| channel.is_member)
}

fn page(
    workspace: &Workspace,
    arguments: &Arguments,
    is_listed: fn(&FakeChannel) -> bool,
) -> Outcome {
    let types = arguments.text("types").unwrap_or("public_channel".into());
    let mut kinds = Vec::new();
    for name in types.split(',') {
        let (kind, scope) = match name.trim() {
            "public_channel" => ("channel", "channels:read"),
            "private_channel" => ("group", "groups:read"),
            "im" => ("im", "im:read"),
            "mpim" => ("mpim", "mpim:read"),
            _ => return Err(Answer::error("invalid_types")),
        };
        require(workspace, scope)?;
        kinds.push(kind);
    }
    let excludes_archived = arguments.flag("exclude_archived");
    let limit = pages::limit(arguments, DEFAULT)?;
    let from = pages::position(arguments, CURSOR)?.unwrap_or_default();
    let mut channels = workspace.channels.values().filter(|channel| {
        kinds.contains(&channel.kind())
            && is_listed(channel)
            && !(excludes_archived && channel.is_archived)
            && channel.id >= from
    });
    let page: Vec<Value> = channels.by_ref().take(limit).map(render::channel).collect();
    let next = channels.next().map(|channel| channel.id.as_str());
    Ok(json!({ "channels": page, "response_metadata": pages::metadata(CURSOR, next) }))
}

fn scope(channel: &FakeChannel) -> &'static str {
    match channel.kind() {
        "channel" => "channels:read",
        "group" => "groups:read",
        "im" => "im:read",
        _ => "mpim:read",
    }
}

impl Workspace {
    /// Returns a channel that the bot may know about.
    pub(super) fn visible(&self, id: &str) -> Result<&FakeChannel, Answer> {
        let found = self.channels.get(id);
        let found = found.filter(|channel| channel.is_member || channel.kind() == "channel");
        found.ok_or_else(|| Answer::error("channel_not_found"))
    }

    /// Returns a channel that the bot may post in.
    pub(super) fn writable(&self, id: &str) -> Result<&FakeChannel, Answer> {
        let channel = self.visible(id)?;
        match channel {
            FakeChannel {
                is_archived: true, ..
            } => Err(Answer::error("is_archived")),
            FakeChannel {
                is_member: false, ..
            } => Err(Answer::error("not_in_channel")),
            _ => Ok(channel),
        }
    }
}
