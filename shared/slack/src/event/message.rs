//! A message, from an event or from a page of `conversations.history` and `conversations.replies`.
//!
//! Not here: which messages are requests (`trigger`).

use serde_json::Value;

use crate::{Ts, text};

/// Subtype of messages posted by classic integrations.
const BOT_MESSAGE: &str = "bot_message";
/// Conversation kind of a direct message.
const DIRECT: &str = "im";
/// First letter of a direct message channel.
const DIRECT_PREFIX: char = 'D';

/// The ids of the bot, from `auth.test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bot {
    /// User id, which mentions name.
    pub user_id: String,
    /// Bot id, which the messages carry.
    pub bot_id: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Channel id.
    pub channel: String,
    /// `im`, `mpim`, `channel` or `group`; missing in history and mentions.
    pub channel_type: Option<String>,
    /// Sender's user id.
    pub user: Option<String>,
    /// Id of the bot or app that posted it, on behalf of a person too.
    pub bot_id: Option<String>,
    /// Subtype, such as `file_share`. An ordinary message has none.
    pub subtype: Option<String>,
    /// Text as Slack encodes it; [`text::request_text`] decodes it.
    pub text: String,
    /// Id within the channel.
    pub ts: Ts,
    /// Parent of the thread; the parent itself names itself once it has replies.
    pub thread_ts: Option<Ts>,
    /// Attached files.
    pub files: Vec<File>,
    /// Sender's team, which differs from the bot's in a shared channel.
    pub team: Option<String>,
    /// True if the channel is shared with another organization. History does not show it.
    pub is_ext_shared: bool,
    /// Blocks, or null.
    pub blocks: Value,
    /// The id in the metadata of a reply by the bot.
    pub reply_id: Option<String>,
    /// When it was edited last.
    pub edited: Option<Ts>,
    /// Reactions; history has them, events have none.
    pub reactions: Vec<Reaction>,
    /// Time of the newest reply to a parent, in history.
    pub latest_reply: Option<Ts>,
}

/// A reaction with its users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// Emoji name without colons.
    pub name: String,
    /// User ids, possibly not all.
    pub users: Vec<String>,
}

/// A file attached to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Id.
    pub id: String,
    /// File name, else title, else empty.
    pub name: String,
    /// Media type by Slack's detection, or empty.
    pub media_type: String,
    /// Bytes, 0 if unknown.
    pub size: u64,
    /// Download address, which needs the bot token.
    pub url: Option<String>,
    /// Whether it can be downloaded.
    pub access: FileAccess,
}

/// Whether a file can be downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// From the address in the message.
    Direct,
    /// Only after `files.info`, which returns its address, name and size.
    AfterInfo,
    /// Hosted elsewhere.
    External,
    /// Deleted, or hidden from the bot.
    Gone,
}

impl Message {
    /// Reads a history entry, or the inner event. Returns `None` without a valid timestamp.
    pub fn read(channel: &str, entry: &Value) -> Option<Self> {
        let team = ["user_team", "source_team", "team"];
        Some(Self {
            channel: channel.to_owned(),
            channel_type: string(entry, "channel_type"),
            user: string(entry, "user"),
            bot_id: string(entry, "bot_id"),
            subtype: string(entry, "subtype"),
            text: string(entry, "text").unwrap_or_default(),
            ts: timestamp(entry, "ts")?,
            thread_ts: timestamp(entry, "thread_ts"),
            files: list(entry, "files").map(File::read).collect(),
            team: team.iter().find_map(|name| string(entry, name)),
            is_ext_shared: false,
            blocks: entry["blocks"].clone(),
            reply_id: string(&entry["metadata"]["event_payload"], "id"),
            edited: timestamp(&entry["edited"], "ts"),
            reactions: list(entry, "reactions")
                .filter_map(Reaction::read)
                .collect(),
            latest_reply: timestamp(entry, "latest_reply"),
        })
    }

    /// Returns the thread it belongs to, or would start.
    pub fn thread(&self) -> Ts {
        self.thread_ts.unwrap_or(self.ts)
    }

    /// Returns whether it answers another message.
    pub fn is_reply(&self) -> bool {
        self.thread() != self.ts
    }

    /// Returns whether its channel is a direct message to the bot.
    pub fn is_direct(&self) -> bool {
        match &self.channel_type {
            Some(kind) => kind == DIRECT,
            None => self.channel.starts_with(DIRECT_PREFIX),
        }
    }

    /// Returns whether the bot posted it.
    pub fn is_by(&self, bot: &Bot) -> bool {
        self.user.as_ref() == Some(&bot.user_id) || self.bot_id.as_ref() == Some(&bot.bot_id)
    }

    /// Returns whether any bot posted it, this one included.
    pub fn is_from_bot(&self) -> bool {
        self.bot_id.is_some() || self.subtype.as_deref() == Some(BOT_MESSAGE)
    }

    /// Returns whether it mentions the bot.
    pub fn mentions(&self, bot: &Bot) -> bool {
        text::mentions(&self.text, &bot.user_id)
    }

    /// Returns whether a user reacted to it with an emoji.
    pub fn has_reaction(&self, name: &str, user: &str) -> bool {
        let of_name = self
            .reactions
            .iter()
            .filter(|reaction| reaction.name == name);
        of_name
            .flat_map(|reaction| &reaction.users)
            .any(|id| id == user)
    }
}

impl File {
    /// Reads a file of a message, or the answer of `files.info`.
    pub fn read(file: &Value) -> Self {
        let mode = file["mode"].as_str().unwrap_or_default();
        let access = match (mode, file["file_access"].as_str()) {
            ("tombstone" | "hidden_by_limit", _) => FileAccess::Gone,
            (_, Some("access_denied" | "file_not_found")) => FileAccess::Gone,
            (_, Some("check_file_info")) => FileAccess::AfterInfo,
            ("external", _) => FileAccess::External,
            _ if file["is_external"] == true => FileAccess::External,
            _ => FileAccess::Direct,
        };
        let first = |names: &[&str]| names.iter().find_map(|name| string(file, name));
        Self {
            id: string(file, "id").unwrap_or_default(),
            name: first(&["name", "title"]).unwrap_or_default(),
            media_type: string(file, "mimetype").unwrap_or_default(),
            size: file["size"].as_u64().unwrap_or(0),
            url: first(&["url_private_download", "url_private"]),
            access,
        }
    }
}

impl Reaction {
    fn read(reaction: &Value) -> Option<Self> {
        let users = list(reaction, "users").filter_map(Value::as_str);
        Some(Self {
            name: string(reaction, "name")?,
            users: users.map(str::to_owned).collect(),
        })
    }
}

/// Returns a field that is a non-empty string.
pub(super) fn string(value: &Value, name: &str) -> Option<String> {
    let text = value[name].as_str().filter(|text| !text.is_empty())?;
    Some(text.to_owned())
}

pub(super) fn timestamp(value: &Value, name: &str) -> Option<Ts> {
    Ts::parse(value[name].as_str()?)
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn history_entry_is_read() {
        let entry = json!({
            "type": "message", "subtype": "file_share", "user": "U1", "text": "see", "ts": "10.1", "thread_ts": "9.0",
            "team": "T1", "user_team": "T2", "latest_reply": "12.0", "blocks": [{"block_id": "b"}],
            "edited": {"user": "U1", "ts": "11.0"}, "metadata": {"event_type": "x", "event_payload": {"id": "n"}},
            "files": [{"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 3, "url_private": "https://x"}],
            "reactions": [{"name": "eyes", "users": ["UB", 3]}, {"users": []}],
        });
        let message = Message::read("C1", &entry).unwrap();
        assert_eq!(
            message,
            Message {
                channel: "C1".into(),
                channel_type: None,
                user: Some("U1".into()),
                bot_id: None,
                subtype: Some("file_share".into()),
                text: "see".into(),
                ts: Ts::parse("10.1").unwrap(),
                thread_ts: Ts::parse("9.0"),
                files: vec![File {
                    id: "F1".into(),
                    name: "a.png".into(),
                    media_type: "image/png".into(),
                    size: 3,
                    url: Some("https://x".into()),
                    access: FileAccess::Direct,
                }],
                team: Some("T2".into()),
                is_ext_shared: false,
                blocks: json!([{"block_id": "b"}]),
                reply_id: Some("n".into()),
                edited: Ts::parse("11.0"),
                reactions: vec![Reaction {
                    name: "eyes".into(),
                    users: vec!["UB".into()]
                }],
                latest_reply: Ts::parse("12.0"),
            }
        );
        assert!(message.is_reply() && message.has_reaction("eyes", "UB"));
        assert!(!message.has_reaction("eyes", "U1") && !message.has_reaction("tada", "UB"));
    }

    #[test]
    fn entry_needs_only_a_timestamp() {
        let odd = json!({"ts": "1.0", "user": 3, "files": "x", "thread_ts": "x", "text": null, "blocks": 1});
        let message = Message::read("C1", &odd).unwrap();
        assert_eq!(
            (message.user, message.files.len(), message.thread_ts),
            (None, 0, None)
        );
        for entry in [
            json!({}),
            json!(null),
            json!([]),
            json!({"ts": 1.0}),
            json!({"ts": "x"}),
        ] {
            assert_eq!(Message::read("C1", &entry), None, "{entry}");
        }
    }

    #[test]
    fn file_access_follows_its_mode() {
        for (file, access) in [
            (json!({"mode": "hosted"}), FileAccess::Direct),
            (
                json!({"mode": "snippet", "is_external": false}),
                FileAccess::Direct,
            ),
            (
                json!({"mode": "hosted", "is_external": true}),
                FileAccess::External,
            ),
            (json!({"mode": "external"}), FileAccess::External),
            (json!({"mode": "tombstone"}), FileAccess::Gone),
            (json!({"mode": "hidden_by_limit"}), FileAccess::Gone),
            (
                json!({"file_access": "check_file_info"}),
                FileAccess::AfterInfo,
            ),
            (json!({"file_access": "access_denied"}), FileAccess::Gone),
            (json!("x"), FileAccess::Direct),
        ] {
            assert_eq!(File::read(&file).access, access, "{file}");
        }
    }
}
