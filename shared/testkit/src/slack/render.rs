//! The workspace's JSON.

use serde_json::{Value, json};

use super::state::{FakeChannel, FakeFile, FakeMessage, FakeUser, Workspace};

/// Replies that a thread's first message names.
const REPLIERS: usize = 5;

pub(super) fn user(user: &FakeUser) -> Value {
    let mut profile = json!({
        "real_name": user.real_name, "display_name": user.name, "team": user.team_id,
        "real_name_normalized": user.real_name, "display_name_normalized": user.name,
    });
    if let Some(email) = &user.email {
        profile["email"] = email.as_str().into();
    }
    json!({
        "id": user.id, "team_id": user.team_id, "name": user.name, "deleted": user.is_deleted,
        "real_name": user.real_name, "tz": "Etc/UTC", "profile": profile, "is_admin": false, "is_owner": false,
        "is_restricted": user.is_restricted, "is_ultra_restricted": user.is_ultra_restricted,
        "is_bot": user.is_bot, "is_app_user": false, "is_stranger": user.is_stranger, "updated": 1_700_000_000,
    })
}

pub(super) fn channel(channel: &FakeChannel) -> Value {
    let mut rendered = json!({
        "id": channel.id, "created": 1_700_000_000, "is_archived": channel.is_archived, "is_im": channel.is_im,
        "is_mpim": channel.is_mpim, "is_private": channel.is_private || channel.is_im || channel.is_mpim,
        "is_ext_shared": channel.is_ext_shared, "is_org_shared": false, "is_shared": channel.is_ext_shared,
    });
    if channel.is_im {
        rendered["user"] = channel.user.clone().into();
        return rendered;
    }
    rendered["name"] = channel.name.as_str().into();
    rendered["name_normalized"] = channel.name.as_str().into();
    rendered["is_channel"] = (!channel.is_private && !channel.is_mpim).into();
    rendered["is_group"] = channel.is_private.into();
    rendered["is_member"] = channel.is_member.into();
    rendered["is_general"] = false.into();
    rendered
}

/// Returns a message as histories and events have it.
pub(super) fn message(workspace: &Workspace, channel: &str, message: &FakeMessage) -> Value {
    let mut rendered = json!({
        "type": "message", "user": message.user, "ts": message.ts, "text": message.text,
        "team": workspace.users.get(&message.user).map_or(&workspace.team_id, |user| &user.team_id),
    });
    if let Some(subtype) = &message.subtype {
        rendered["subtype"] = subtype.as_str().into();
    }
    if let Some(bot) = &message.bot_id {
        rendered["bot_id"] = bot.as_str().into();
        rendered["app_id"] = workspace.app_id.as_str().into();
        rendered["bot_profile"] = json!({
            "id": bot, "app_id": workspace.app_id, "name": workspace.users[&workspace.bot_user].name,
            "deleted": false, "team_id": workspace.team_id,
        });
    }
    let blocks = message.shown_blocks();
    if !blocks.is_empty() {
        rendered["blocks"] = blocks.into();
    }
    if !message.files.is_empty() {
        let files = message
            .files
            .iter()
            .filter_map(|id| workspace.files.get(id));
        rendered["files"] = files.map(|one| file(workspace, one)).collect();
        rendered["upload"] = false.into();
    }
    if let Some(edited) = &message.edited {
        rendered["edited"] = json!({ "user": message.user, "ts": edited });
    }
    if !message.metadata.is_null() {
        rendered["metadata"] = message.metadata.clone();
    }
    let reactions = message.reactions.iter();
    let reactions: Vec<Value> = reactions
        .map(|one| json!({ "name": one.name, "users": one.users, "count": one.users.len() }))
        .collect();
    if !reactions.is_empty() {
        rendered["reactions"] = reactions.into();
    }
    thread(workspace, channel, message, &mut rendered);
    rendered
}

/// Adds the fields of a reply, or of a message with replies.
fn thread(workspace: &Workspace, channel: &str, message: &FakeMessage, rendered: &mut Value) {
    let Some(channel) = workspace.channels.get(channel) else {
        return;
    };
    if let Some(thread_ts) = message.thread_ts.as_deref().filter(|_| !message.is_root()) {
        rendered["thread_ts"] = thread_ts.into();
        let parent = channel.messages.iter().find(|one| one.ts == thread_ts);
        if let Some(parent) = parent {
            rendered["parent_user_id"] = parent.user.as_str().into();
        }
        return;
    }
    let replies: Vec<&FakeMessage> = channel.replies(&message.ts).collect();
    let Some(latest) = replies.last() else { return };
    let mut users: Vec<&str> = Vec::new();
    for reply in &replies {
        if !users.contains(&reply.user.as_str()) {
            users.push(&reply.user);
        }
    }
    rendered["thread_ts"] = message.ts.as_str().into();
    rendered["reply_count"] = replies.len().into();
    rendered["reply_users_count"] = users.len().into();
    users.truncate(REPLIERS);
    rendered["reply_users"] = users.into();
    rendered["latest_reply"] = latest.ts.as_str().into();
    rendered["is_locked"] = false.into();
    rendered["subscribed"] = false.into();
}

pub(super) fn file(workspace: &Workspace, file: &FakeFile) -> Value {
    let FakeFile { id, name, .. } = file;
    let place = format!(
        "http://{}/files-pri/{}-{id}",
        workspace.authority, workspace.team_id
    );
    let extension = name.rsplit_once('.').map_or("text", |(_, end)| end);
    json!({
        "id": id, "created": file.created, "timestamp": file.created, "name": name, "title": file.title,
        "mimetype": file.mimetype, "filetype": extension, "pretty_type": extension.to_uppercase(), "user": file.user,
        "user_team": workspace.team_id, "mode": "hosted", "size": file.bytes.len(), "is_external": false,
        "external_type": "", "is_public": true, "editable": false, "file_access": "visible",
        "url_private": format!("{place}/{name}"), "url_private_download": format!("{place}/download/{name}"),
        "permalink": format!("https://{}.slack.test/files/{}/{id}/{name}", workspace.domain, file.user),
        "channels": file.channels,
    })
}

/// Returns the link to a message, which for a reply names the thread.
pub(super) fn permalink(workspace: &Workspace, channel: &str, message: &FakeMessage) -> String {
    let digits = message.ts.replace('.', "");
    let link = format!(
        "https://{}.slack.test/archives/{channel}/p{digits}",
        workspace.domain
    );
    match message.thread_ts.as_deref().filter(|_| !message.is_root()) {
        Some(thread) => format!("{link}?thread_ts={thread}&cid={channel}"),
        None => link,
    }
}
