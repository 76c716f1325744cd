//! The workspace's state, for tests to read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::{clock::Clock, envelopes::Sockets, fault::Planned, limits::Limits};

/// The scopes that the bot's token has until a test revokes some.
const SCOPES: [&str; 16] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
    "users:read.email",
];
/// A member of the workspace, or someone from outside in a shared channel.
#[derive(Debug, Clone, Default)]
pub struct FakeUser {
    /// Id, such as `U0ADA`.
    pub id: String,
    /// Handle, without the at sign.
    pub name: String,
    /// The person's full name.
    pub real_name: String,
    /// Verified address; absent for bots.
    pub email: Option<String>,
    /// Workspace that the account is from.
    pub team_id: String,
    /// Whether the account is an app's.
    pub is_bot: bool,
    /// Whether it is a guest in several channels.
    pub is_restricted: bool,
    /// Whether it is a guest in a single channel.
    pub is_ultra_restricted: bool,
    /// Whether it is from another workspace.
    pub is_stranger: bool,
    /// Whether the account was deactivated.
    pub is_deleted: bool,
}

/// A conversation: a channel, a group or direct messages.
#[derive(Debug, Clone, Default)]
pub struct FakeChannel {
    /// Id, which begins with `C`, `G` or `D`.
    pub id: String,
    /// Name without the hash sign; empty for direct messages.
    pub name: String,
    /// Whether only members see it.
    pub is_private: bool,
    /// Whether it holds direct messages between the bot and one person.
    pub is_im: bool,
    /// Whether it holds direct messages between several people.
    pub is_mpim: bool,
    /// Whether the bot is a member.
    pub is_member: bool,
    /// Whether another workspace shares it.
    pub is_ext_shared: bool,
    /// Whether it is permanently read-only.
    pub is_archived: bool,
    /// The other person in direct messages.
    pub user: Option<String>,
    /// Messages with their replies, by ascending timestamp.
    pub messages: Vec<FakeMessage>,
    /// Messages that only one user sees, with that user's id.
    pub ephemeral: Vec<(String, FakeMessage)>,
}

/// A message in a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FakeMessage {
    /// Timestamp, which is the message's id in the channel: `seconds.micros`.
    pub ts: String,
    /// Timestamp of the thread's first message; absent outside threads.
    pub thread_ts: Option<String>,
    /// Id of the author's user; the bot has one too.
    pub user: String,
    /// Id of the author's bot; absent for people.
    pub bot_id: Option<String>,
    /// Text in Slack's markup, or in Markdown if it was streamed.
    pub text: String,
    /// Blocks as posted, each with its `block_id`.
    pub blocks: Vec<Value>,
    /// Ids of attached files.
    pub files: Vec<String>,
    /// Subtype, such as `file_share`; absent for a plain message.
    pub subtype: Option<String>,
    /// Timestamp of the last change.
    pub edited: Option<String>,
    /// How often it was changed.
    pub edits: usize,
    /// Metadata as posted; null without any.
    pub metadata: Value,
    /// Reactions by ascending time.
    pub reactions: Vec<FakeReaction>,
    /// Chunks of a stream as sent; empty for other messages.
    pub chunks: Vec<Value>,
    /// Whether a stream is still open.
    pub is_streaming: bool,
    /// Whether a person stopped the stream.
    pub is_stopped: bool,
    /// Whether a stream shows tasks as a plan.
    pub is_plan: bool,
}

/// A reaction with everyone who chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeReaction {
    /// Name of the emoji, without colons.
    pub name: String,
    /// Ids of users.
    pub users: Vec<String>,
}

/// A file with its content.
#[derive(Debug, Clone, Default)]
pub struct FakeFile {
    /// Id, which begins with `F`.
    pub id: String,
    /// Name with the extension.
    pub name: String,
    /// Title beside the name.
    pub title: String,
    /// Media type, such as `image/png`.
    pub mimetype: String,
    /// Id of the user who shared it.
    pub user: String,
    /// Content; empty until it is uploaded.
    pub bytes: Vec<u8>,
    /// Seconds since the epoch.
    pub created: u64,
    /// Size that the uploader announced.
    pub announced: usize,
    /// Whether the upload is complete.
    pub is_complete: bool,
    /// Channels that it was shared in.
    pub channels: Vec<String>,
}

/// The status that an assistant shows in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeStatus {
    /// Id of the channel.
    pub channel: String,
    /// The thread's timestamp.
    pub thread_ts: String,
    /// Text; empty clears it.
    pub status: String,
    /// Texts to rotate through.
    pub loading_messages: Vec<String>,
}

/// A call of the Web API, an `upload` or a `download`.
#[derive(Debug, Clone)]
pub struct Call {
    /// Name, such as `chat.postMessage`.
    pub method: String,
    /// Arguments without the token. Nested JSON is parsed, other form fields are texts.
    pub arguments: Value,
    /// Microseconds since the epoch on the fake's clock.
    pub at: u64,
    /// Whether the workspace performed or refused it. The answer may still be missing.
    pub is_decided: bool,
    /// The error code in the answer; absent if it succeeded or was not answered.
    pub error: Option<String>,
}

/// The tokens that the workspace knows.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    pub(super) bot: String,
    pub(super) app: String,
    pub(super) is_revoked: bool,
}

/// Everything about one workspace and its only app.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) team_id: String,
    pub(super) domain: String,
    pub(super) app_id: String,
    pub(super) bot_id: String,
    pub(super) bot_user: String,
    pub(super) tokens: Tokens,
    pub(super) scopes: BTreeSet<String>,
    pub(super) app_scopes: BTreeSet<String>,
    pub(super) users: BTreeMap<String, FakeUser>,
    pub(super) channels: BTreeMap<String, FakeChannel>,
    pub(super) files: BTreeMap<String, FakeFile>,
    /// Every status that was set, oldest first.
    pub(super) statuses: Vec<FakeStatus>,
    pub(super) calls: Vec<Call>,
    /// Faults that did not happen yet, the next one first.
    pub(super) faults: VecDeque<Planned>,
    pub(super) limits: Limits,
    pub(super) clock: Clock,
    pub(super) sockets: Sockets,
    /// Stores messages without sending their events.
    pub(super) is_muted: bool,
    /// Answers `chat.startStream`.
    pub(super) allows_streams: bool,
    /// The server's host and port, as clients name it.
    pub(super) authority: String,
    /// Opens the page; absent without a rehearsal.
    pub(super) page_key: Option<String>,
    next_id: u64,
}

impl Workspace {
    /// Creates a workspace with the bot as the only member.
    pub(super) fn new(authority: String) -> Self {
        let team_id = "T0FAKE".to_owned();
        let bot_user = "U0ARSBOT".to_owned();
        let bot = FakeUser {
            id: bot_user.clone(),
            name: "ars".to_owned(),
            real_name: "ars".to_owned(),
            team_id: team_id.clone(),
            is_bot: true,
            ..FakeUser::default()
        };
        let set = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect();
        Self {
            domain: "acme".to_owned(),
            app_id: "A0ARS".to_owned(),
            bot_id: "B0ARS".to_owned(),
            tokens: Tokens {
                bot: "xoxb-fake-bot-token".to_owned(),
                app: "xapp-1-A0ARS-fake-app-token".to_owned(),
                is_revoked: false,
            },
            scopes: set(&SCOPES),
            app_scopes: set(&["connections:write"]),
            users: BTreeMap::from([(bot_user.clone(), bot)]),
            channels: BTreeMap::new(),
            files: BTreeMap::new(),
            statuses: Vec::new(),
            calls: Vec::new(),
            faults: VecDeque::new(),
            limits: Limits::default(),
            clock: Clock::default(),
            sockets: Sockets::default(),
            is_muted: false,
            allows_streams: false,
            authority,
            page_key: None,
            next_id: 0,
            team_id,
            bot_user,
        }
    }

    /// Returns an unused id with this beginning, such as `F`.
    pub(super) fn id(&mut self, prefix: &str) -> String {
        self.next_id += 1;
        format!("{prefix}0{:07}", self.next_id)
    }

    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }

    pub(super) fn message(&self, channel: &str, ts: &str) -> Option<&FakeMessage> {
        let mut messages = self.channels.get(channel)?.messages.iter();
        messages.find(|message| message.ts == ts)
    }

    pub(super) fn message_mut(&mut self, channel: &str, ts: &str) -> Option<&mut FakeMessage> {
        let mut messages = self.channels.get_mut(channel)?.messages.iter_mut();
        messages.find(|message| message.ts == ts)
    }
}

impl FakeUser {
    /// Returns a full member of the fake's workspace.
    pub fn person(id: &str, name: &str, real_name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            real_name: real_name.to_owned(),
            email: Some(format!("{name}@acme.test")),
            team_id: "T0FAKE".to_owned(),
            ..Self::default()
        }
    }
}

impl FakeChannel {
    /// Returns a public channel with the bot in it.
    pub fn public(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            is_member: true,
            ..Self::default()
        }
    }

    /// Returns a private channel with the bot in it.
    pub fn private(id: &str, name: &str) -> Self {
        Self {
            is_private: true,
            ..Self::public(id, name)
        }
    }

    /// Returns direct messages between the bot and a user.
    pub fn direct(id: &str, user: &str) -> Self {
        Self {
            is_im: true,
            user: Some(user.to_owned()),
            ..Self::public(id, "")
        }
    }

    /// Returns the messages outside threads and the first messages in threads, oldest first.
    pub(super) fn top_level(&self) -> impl DoubleEndedIterator<Item = &FakeMessage> {
        self.messages.iter().filter(|message| message.is_root())
    }

    /// Returns the replies in a thread, oldest first.
    pub(super) fn replies(&self, thread: &str) -> impl DoubleEndedIterator<Item = &FakeMessage> {
        let in_thread = move |message: &&FakeMessage| {
            !message.is_root() && message.thread_ts.as_deref() == Some(thread)
        };
        self.messages.iter().filter(in_thread)
    }

    /// Returns the kind that scopes and events name: `channel`, `group`, `im` or `mpim`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self { is_im: true, .. } => "im",
            Self { is_mpim: true, .. } => "mpim",
            Self {
                is_private: true, ..
            } => "group",
            _ => "channel",
        }
    }
}

impl FakeMessage {
    /// Returns whether it is no reply.
    pub fn is_root(&self) -> bool {
        self.thread_ts
            .as_ref()
            .is_none_or(|thread| *thread == self.ts)
    }
}
