//! Calls with typed answers, which have only the parts that the service reads.

use std::time::Duration;

use ars_slack::{
    Ts,
    event::{Bot, Message},
};
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::{Api, ApiError, Call, Method, Urgency};

/// Longest wait for a call with a result that something waits for.
const CALL_WAIT: Duration = Duration::from_secs(120);
/// Longest wait for a reaction. A later one has no use.
const REACTION_WAIT: Duration = Duration::from_secs(30);
/// Longest wait for a reply. Nothing is lost as long as the process lives.
const REPLY_WAIT: Duration = Duration::from_secs(60 * 60);
/// Messages per page of a thread.
const THREAD_PAGE: u32 = 200;
/// Maximum pages of a thread from a time on.
const MAX_THREAD_PAGES: usize = 20;
/// Channels per page of the bot's list.
const CHANNELS_PAGE: u32 = 200;

/// Kind of the metadata of replies.
const REPLY_EVENT: &str = "ars_reply";

/// The bot's own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The workspace's id.
    pub team: String,
    /// The organization's id, in an enterprise.
    pub enterprise: Option<String>,
    /// The workspace's address, which ends with a slash.
    pub url: String,
    /// The bot's ids.
    pub bot: Bot,
    /// The token's scopes, if the platform names them.
    pub scopes: Vec<String>,
}

/// Facts about a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelFacts {
    /// The channel's id.
    pub id: String,
    /// Every member of the workspace can read it.
    pub is_public: bool,
    /// Another organization shares it.
    pub is_shared: bool,
}

/// Facts about a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFacts {
    /// The user is a guest, or belongs to another organization.
    pub is_guest: bool,
    /// The user's workspace.
    pub team: Option<String>,
    /// The user's organization.
    pub enterprise: Option<String>,
}

/// A message that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The channel, which differs from the requested one for a direct message.
    pub channel: String,
    /// The message's id within the channel.
    pub ts: Ts,
}

/// The form of a posted message.
#[derive(Debug, Clone, Copy)]
pub enum PostForm<'a> {
    /// A reply, which waits for a turn. The id is unique in the thread.
    Reply {
        /// Identifies the reply.
        id: &'a str,
        /// The blocks, if it has more than text.
        blocks: Option<&'a Value>,
    },
    /// A card with these blocks, which gives way to replies.
    Card(&'a Value),
}

/// A page of a listing.
#[derive(Debug)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// The next page's cursor.
    pub next: Option<String>,
}

impl Api {
    /// Returns the bot's account.
    pub async fn account(&self) -> Result<Account, ApiError> {
        let call = call(Method::AuthTest, None, json!({}));
        let answer = self.answer(&call).await?;
        let body = &answer.body;
        let scopes = answer.scopes.as_deref().unwrap_or_default().split(',');
        Ok(Account {
            team: required(&body["team_id"])?,
            enterprise: text(&body["enterprise_id"]),
            url: required(&body["url"])?,
            bot: Bot {
                user_id: required(&body["user_id"])?,
                bot_id: text(&body["bot_id"]).unwrap_or_default(),
            },
            scopes: scopes
                .map(|scope| scope.trim().to_owned())
                .filter(|scope| !scope.is_empty())
                .collect(),
        })
    }

    /// Returns the address to which the event socket connects.
    pub async fn open_connection(&self) -> Result<Url, ApiError> {
        let body = self
            .call(&call(Method::OpenConnection, None, json!({})))
            .await?;
        let url = required(&body["url"])?;
        self.base().socket(&url).ok_or(ApiError::Unreadable)
    }

    /// Describes a channel.
    pub async fn channel(&self, channel: &str) -> Result<ChannelFacts, ApiError> {
        let arguments = json!({ "channel": channel });
        let body = self
            .call(&call(Method::Channel, Some(channel), arguments))
            .await?;
        channel_facts(&body["channel"]).ok_or(ApiError::Unreadable)
    }

    /// Describes a user.
    pub async fn user(&self, user: &str) -> Result<UserFacts, ApiError> {
        let body = self
            .call(&call(Method::User, None, json!({ "user": user })))
            .await?;
        let user = &body["user"];
        let is = |name: &str| user[name] == true;
        Ok(UserFacts {
            is_guest: is("is_restricted") || is("is_ultra_restricted") || is("is_stranger"),
            team: text(&user["team_id"]),
            enterprise: text(&user["enterprise_user"]["enterprise_id"]),
        })
    }

    /// Lists the bot's public and private channels.
    pub async fn channels(&self, cursor: Option<&str>) -> Result<Page<ChannelFacts>, ApiError> {
        let arguments = json!({
            "types": "public_channel,private_channel", "exclude_archived": true, "limit": CHANNELS_PAGE,
            "cursor": cursor,
        });
        let body = self.call(&call(Method::Channels, None, arguments)).await?;
        let channels = body["channels"].as_array().ok_or(ApiError::Unreadable)?;
        Ok(Page {
            entries: channels.iter().filter_map(channel_facts).collect(),
            next: next(&body),
        })
    }

    /// Reads a channel's messages between two times, newest first. Without `latest` the platform
    /// would begin with the oldest.
    pub async fn history(
        &self,
        channel: &str,
        (oldest, latest): (Ts, Ts),
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Message>, ApiError> {
        let arguments = json!({
            "channel": channel, "oldest": oldest.to_string(), "latest": latest.to_string(), "inclusive": true, "limit": limit, "cursor": cursor,
        });
        self.messages(Method::History, channel, arguments).await
    }

    /// Reads a thread's first messages, oldest first. The first is the parent.
    pub async fn replies(
        &self,
        channel: &str,
        thread: Ts,
        limit: u32,
    ) -> Result<Vec<Message>, ApiError> {
        let page = self
            .replies_page((channel, thread), None, limit, None)
            .await?;
        Ok(page.entries)
    }

    /// Reads a thread's messages from a time on, oldest first. The parent precedes them.
    pub async fn replies_since(
        &self,
        channel: &str,
        thread: Ts,
        since: Ts,
    ) -> Result<Vec<Message>, ApiError> {
        let mut messages = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_THREAD_PAGES {
            let place = (channel, thread);
            let page = self
                .replies_page(place, Some(since), THREAD_PAGE, cursor.as_deref())
                .await?;
            // The platform repeats the parent on each page.
            let is_first = cursor.is_none();
            let entries = page.entries.into_iter();
            messages.extend(entries.filter(|message| is_first || message.ts != thread));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(messages)
    }

    async fn replies_page(
        &self,
        (channel, thread): (&str, Ts),
        since: Option<Ts>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Message>, ApiError> {
        let arguments = json!({
            "channel": channel, "ts": thread.to_string(), "limit": limit, "cursor": cursor,
            "oldest": since.map(|since| since.to_string()), "inclusive": since.map(|_| true),
            "include_all_metadata": true,
        });
        self.messages(Method::Replies, channel, arguments).await
    }

    async fn messages(
        &self,
        method: Method,
        channel: &str,
        arguments: Value,
    ) -> Result<Page<Message>, ApiError> {
        let body = self.call(&call(method, Some(channel), arguments)).await?;
        let messages = body["messages"].as_array().ok_or(ApiError::Unreadable)?;
        Ok(Page {
            entries: messages
                .iter()
                .filter_map(|entry| Message::read(channel, entry))
                .collect(),
            next: next(&body),
        })
    }

    /// Posts a message in a thread.
    pub async fn post(
        &self,
        channel: &str,
        thread: Ts,
        text: &str,
        form: PostForm<'_>,
    ) -> Result<Posted, ApiError> {
        let (blocks, id) = match form {
            PostForm::Reply { id, blocks } => (blocks, Some(id)),
            PostForm::Card(blocks) => (Some(blocks), None),
        };
        let metadata =
            id.map(|id| json!({ "event_type": REPLY_EVENT, "event_payload": { "id": id } }));
        let arguments = json!({
            "channel": channel, "thread_ts": thread.to_string(), "text": text, "blocks": blocks,
            "metadata": metadata, "unfurl_links": false, "unfurl_media": false,
        });
        let mut call = call(Method::Post, Some(channel), arguments);
        call.urgency = match form {
            PostForm::Reply { .. } => Urgency::Waits(REPLY_WAIT),
            PostForm::Card(_) => Urgency::Yields,
        };
        let body = self.call(&call).await?;
        Ok(Posted {
            channel: required(&body["channel"])?,
            ts: Ts::parse(&required(&body["ts"])?).ok_or(ApiError::Unreadable)?,
        })
    }

    /// Replaces a message's text and blocks.
    pub async fn update(
        &self,
        (channel, ts): (&str, Ts),
        text: &str,
        blocks: &Value,
        urgency: Urgency,
    ) -> Result<(), ApiError> {
        let arguments =
            json!({ "channel": channel, "ts": ts.to_string(), "text": text, "blocks": blocks });
        let mut call = call(Method::Update, Some(channel), arguments);
        call.urgency = urgency;
        self.call(&call).await.map(drop)
    }

    /// Posts a message that only this user sees.
    pub async fn post_ephemeral(
        &self,
        channel: &str,
        thread: Option<Ts>,
        user: &str,
        text: &str,
    ) -> Result<(), ApiError> {
        let thread = thread.map(|thread| thread.to_string());
        let arguments =
            json!({ "channel": channel, "thread_ts": thread, "user": user, "text": text });
        let call = call(Method::PostEphemeral, Some(channel), arguments);
        self.call(&call).await.map(drop)
    }

    /// Adds a reaction, unless it is there already.
    pub async fn react(&self, channel: &str, ts: Ts, name: &str) -> Result<(), ApiError> {
        let arguments = json!({ "channel": channel, "timestamp": ts.to_string(), "name": name });
        let mut call = call(Method::React, Some(channel), arguments);
        call.urgency = Urgency::Waits(REACTION_WAIT);
        match self.call(&call).await {
            Err(error) if error.code() == Some("already_reacted") => Ok(()),
            result => result.map(drop),
        }
    }

    /// Shows a status beside the thread's input, or removes it if the text is empty.
    pub async fn set_status(
        &self,
        channel: &str,
        thread: Ts,
        status: &str,
    ) -> Result<(), ApiError> {
        let arguments =
            json!({ "channel_id": channel, "thread_ts": thread.to_string(), "status": status });
        let mut call = call(Method::SetStatus, Some(channel), arguments);
        call.urgency = Urgency::Yields;
        self.call(&call).await.map(drop)
    }
}

pub(super) fn call(method: Method, channel: Option<&str>, arguments: Value) -> Call<'_> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    Call {
        method,
        urgency: Urgency::Waits(CALL_WAIT),
        channel,
        arguments,
    }
}

pub(super) fn required(value: &Value) -> Result<String, ApiError> {
    text(value).ok_or(ApiError::Unreadable)
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    Some(text.to_owned())
}

fn next(body: &Value) -> Option<String> {
    text(&body["response_metadata"]["next_cursor"])
}

fn channel_facts(channel: &Value) -> Option<ChannelFacts> {
    let is = |name: &str| channel[name] == true;
    let is_shared = is("is_ext_shared") || is("is_pending_ext_shared");
    Some(ChannelFacts {
        id: text(&channel["id"])?,
        is_public: is("is_channel")
            && channel["is_private"] == false
            && !is("is_mpim")
            && !is("is_im"),
        is_shared,
    })
}
