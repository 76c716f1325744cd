//! Messages of the bot: posted, changed, deleted and linked.

use serde_json::{Value, json};

use super::answer::{Answer, Outcome};
use crate::slack::{
    arguments::Arguments,
    blocks, render,
    state::{FakeMessage, Workspace},
};

/// Maximum characters in a posted text. Slack truncates longer ones; the fake rejects them.
const TEXT_MAX: usize = 40_000;
/// Maximum characters in a changed message's text.
const UPDATE_MAX: usize = 4_000;
/// Maximum characters in Markdown.
pub(super) const MARKDOWN_MAX: usize = 12_000;

/// A message's content as arguments give it.
struct Content {
    text: Option<String>,
    blocks: Vec<Value>,
    metadata: Value,
}

/// Reads and checks the content, with at most this many characters of text.
fn content(
    workspace: &mut Workspace,
    arguments: &Arguments,
    most: usize,
) -> Result<Content, Answer> {
    let blocks = arguments.json("blocks", "invalid_blocks_format")?;
    let blocks = blocks::check(workspace, &blocks)?;
    let markdown = arguments.text("markdown_text");
    let text = arguments.text("text");
    if markdown.is_some() && (text.is_some() || !blocks.is_empty()) {
        return Err(Answer::error("markdown_text_conflict"));
    }
    let is_long = |text: &str, most: usize| text.chars().count() > most;
    if text.as_deref().is_some_and(|text| is_long(text, most))
        || markdown
            .as_deref()
            .is_some_and(|text| is_long(text, MARKDOWN_MAX))
    {
        return Err(Answer::error("msg_too_long"));
    }
    let metadata = arguments.json("metadata", "invalid_metadata_format")?;
    let is_valid = metadata.as_object().is_none_or(|fields| {
        fields.is_empty()
            || metadata["event_type"].is_string() && metadata["event_payload"].is_object()
    });
    if !is_valid {
        return Err(Answer::error("invalid_metadata_format"));
    }
    Ok(Content {
        text: text.or(markdown).map(|text| text.into_owned()),
        blocks,
        metadata,
    })
}

pub(super) fn post(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let channel = workspace.addressed(&channel);
    workspace.writable(&channel)?;
    let content = content(workspace, arguments, TEXT_MAX)?;
    if content.text.is_none() && content.blocks.is_empty() {
        return Err(Answer::error("no_text"));
    }
    let thread_ts = arguments.text("thread_ts").map(|ts| ts.into_owned());
    workspace.check_thread(&channel, thread_ts.as_deref())?;
    let message = FakeMessage {
        thread_ts,
        text: content.text.unwrap_or_default(),
        blocks: content.blocks,
        metadata: content.metadata,
        ..workspace.own_message()
    };
    let message = workspace.post(&channel, message);
    let rendered = render::message(workspace, &channel, &message);
    Ok(json!({ "channel": channel, "ts": message.ts, "message": rendered }))
}

pub(super) fn post_ephemeral(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let user = arguments.required("user")?;
    workspace.writable(&channel)?;
    if !workspace.users.contains_key(&user) {
        return Err(Answer::error("user_not_in_channel"));
    }
    let content = content(workspace, arguments, TEXT_MAX)?;
    if content.text.is_none() && content.blocks.is_empty() {
        return Err(Answer::error("no_text"));
    }
    let ts = workspace.clock.next_ts();
    let message = FakeMessage {
        ts: ts.clone(),
        thread_ts: arguments.text("thread_ts").map(|ts| ts.into_owned()),
        text: content.text.unwrap_or_default(),
        blocks: content.blocks,
        ..workspace.own_message()
    };
    let channel = workspace.channels.get_mut(&channel);
    let channel = channel.expect("the channel was found before");
    channel.ephemeral.push((user, message));
    Ok(json!({ "message_ts": ts }))
}

pub(super) fn update(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let ts = arguments.required("ts")?;
    let content = content(workspace, arguments, UPDATE_MAX)?;
    let message = workspace.own(&channel, &ts, "cant_update_message")?;
    if message.is_streaming {
        return Err(Answer::error("streaming_state_conflict"));
    }
    let has_files = !message.files.is_empty();
    if content.text.is_none() && content.blocks.is_empty() && !has_files {
        return Err(Answer::error("no_text"));
    }
    let before = render::message(workspace, &channel, message);
    let edited = workspace.clock.next_ts();
    let message = workspace.message_mut(&channel, &ts);
    let message = message.expect("the message was found before");
    // An edit replaces all that a stream has shown.
    message.chunks.clear();
    // A text without blocks removes the blocks; absent metadata stays.
    if let Some(text) = content.text {
        message.text = text;
        message.blocks.clear();
    }
    if arguments.has("blocks") {
        message.blocks = content.blocks;
    }
    if !content.metadata.is_null() {
        message.metadata = content.metadata;
    }
    message.edited = Some(edited);
    message.edits += 1;
    let text = message.text.clone();
    workspace.announce_change(&channel, &before, &ts);
    let message = workspace.message(&channel, &ts);
    let message = message.expect("the message was found before");
    let rendered = render::message(workspace, &channel, message);
    Ok(json!({ "channel": channel, "ts": ts, "text": text, "message": rendered }))
}

pub(super) fn delete(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let ts = arguments.required("ts")?;
    workspace.own(&channel, &ts, "cant_delete_message")?;
    workspace.remove(&channel, &ts);
    Ok(json!({ "channel": channel, "ts": ts }))
}

pub(super) fn permalink(workspace: &mut Workspace, arguments: &Arguments) -> Outcome {
    let channel = arguments.required("channel")?;
    let ts = arguments.required("message_ts")?;
    workspace.visible(&channel)?;
    let message = workspace.message(&channel, &ts);
    let message = message.ok_or_else(|| Answer::error("message_not_found"))?;
    let link = render::permalink(workspace, &channel, message);
    Ok(json!({ "channel": channel, "permalink": link }))
}

impl Workspace {
    /// Returns the channel that an address means: a user's id means the direct messages.
    fn addressed(&self, address: &str) -> String {
        let mut channels = self.channels.values();
        let direct = channels.find(|one| one.is_im && one.user.as_deref() == Some(address));
        direct.map_or(address, |channel| &channel.id).to_owned()
    }

    /// Returns an empty message of the bot.
    pub(super) fn own_message(&self) -> FakeMessage {
        FakeMessage {
            user: self.bot_user.clone(),
            bot_id: Some(self.bot_id.clone()),
            ..FakeMessage::default()
        }
    }

    /// Rejects a thread that does not begin with a message in the channel.
    pub(super) fn check_thread(&self, channel: &str, thread: Option<&str>) -> Result<(), Answer> {
        let Some(thread) = thread else { return Ok(()) };
        let parent = self.message(channel, thread);
        match parent.is_some_and(FakeMessage::is_root) {
            true => Ok(()),
            false => Err(Answer::error("thread_not_found")),
        }
    }

    /// Returns a message that the bot may change.
    fn own(&self, channel: &str, ts: &str, forbidden: &str) -> Result<&FakeMessage, Answer> {
        self.visible(channel)?;
        let message = self.message(channel, ts);
        let message = message.ok_or_else(|| Answer::error("message_not_found"))?;
        if message.bot_id.as_ref() != Some(&self.bot_id) {
            return Err(Answer::error(forbidden));
        }
        self.writable(channel)?;
        Ok(message)
    }

    /// Stores a message with a new timestamp, sends its events, and returns it.
    pub(in super::super) fn post(
        &mut self,
        channel: &str,
        mut message: FakeMessage,
    ) -> FakeMessage {
        message.ts = self.clock.next_ts();
        let place = self.channels.get_mut(channel);
        let place = place.expect("the channel was found before");
        place.messages.push(message.clone());
        self.announce(channel, &message);
        message
    }

    /// Deletes a message. A tombstone stays for a message with replies.
    pub(in super::super) fn remove(&mut self, channel: &str, ts: &str) {
        let message = self.message(channel, ts).expect("the message exists");
        let before = render::message(self, channel, message);
        let place = self.channels.get_mut(channel);
        let place = place.expect("the channel was found before");
        if place.replies(ts).next().is_none() {
            place.messages.retain(|message| message.ts != ts);
        } else if let Some(message) = place.messages.iter_mut().find(|one| one.ts == ts) {
            *message = FakeMessage {
                ts: ts.to_owned(),
                user: "USLACKBOT".to_owned(),
                text: "This message was deleted.".to_owned(),
                subtype: Some("tombstone".to_owned()),
                ..FakeMessage::default()
            };
        }
        self.announce_deletion(channel, &before);
    }
}
