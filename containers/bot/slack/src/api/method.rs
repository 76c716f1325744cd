//! The methods of the Web API that the service calls, with their rates.

/// A method of the Web API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Names the workspace and the bot.
    AuthTest,
    /// Names the address of the event socket.
    OpenConnection,
    /// Describes a channel.
    Channel,
    /// Reads a channel's messages.
    History,
    /// Reads a thread's messages.
    Replies,
    /// Lists the bot's channels.
    Channels,
    /// Describes a user.
    User,
    /// Posts a message.
    Post,
    /// Replaces a message.
    Update,
    /// Starts a message that grows.
    StartStream,
    /// Adds to it.
    AppendStream,
    /// Ends it.
    StopStream,
    /// Posts a message that one person sees.
    PostEphemeral,
    /// Adds a reaction.
    React,
    /// Shows a status beside a thread's input.
    SetStatus,
    /// Reserves an upload.
    UploadUrl,
    /// Shares an upload.
    CompleteUpload,
}

/// Sockets per minute. The platform allows more, but a storm of reconnections does not help.
const SOCKETS: u32 = 10;
/// Calls per minute of the platform's second tier.
const TIER_2: u32 = 20;
/// Calls per minute of the third tier.
const TIER_3: u32 = 50;
/// Calls per minute of the fourth tier.
const TIER_4: u32 = 100;
/// Messages per minute and channel: below one per second, with the burst.
const POSTS: u32 = 45;
/// Messages that may follow each other at once in a channel.
const POST_BURST: u32 = 3;
/// A minute's calls of the other methods divided by this is their burst.
const BURST_PART: u32 = 5;
/// Status changes per minute.
const STATUSES: u32 = 600;

impl Method {
    /// Returns the name in the address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AuthTest => "auth.test",
            Self::OpenConnection => "apps.connections.open",
            Self::Channel => "conversations.info",
            Self::History => "conversations.history",
            Self::Replies => "conversations.replies",
            Self::Channels => "users.conversations",
            Self::User => "users.info",
            Self::Post => "chat.postMessage",
            Self::Update => "chat.update",
            Self::StartStream => "chat.startStream",
            Self::AppendStream => "chat.appendStream",
            Self::StopStream => "chat.stopStream",
            Self::PostEphemeral => "chat.postEphemeral",
            Self::React => "reactions.add",
            Self::SetStatus => "assistant.threads.setStatus",
            Self::UploadUrl => "files.getUploadURLExternal",
            Self::CompleteUpload => "files.completeUploadExternal",
        }
    }

    /// Returns the calls per minute that the platform allows.
    pub(super) const fn per_minute(self) -> u32 {
        match self {
            Self::OpenConnection => SOCKETS,
            Self::StartStream | Self::StopStream => TIER_2,
            Self::Channel
            | Self::History
            | Self::Replies
            | Self::Channels
            | Self::Update
            | Self::React => TIER_3,
            Self::User
            | Self::AuthTest
            | Self::PostEphemeral
            | Self::AppendStream
            | Self::UploadUrl
            | Self::CompleteUpload => TIER_4,
            Self::Post => POSTS,
            Self::SetStatus => STATUSES,
        }
    }

    /// Returns the calls among them that may be made at once.
    pub(super) const fn burst(self) -> u32 {
        match self {
            Self::Post => POST_BURST,
            _ => self.per_minute() / BURST_PART,
        }
    }

    /// Returns whether a second call with the same arguments has no second effect.
    pub(super) const fn is_repeatable(self) -> bool {
        !matches!(
            self,
            Self::Post | Self::PostEphemeral | Self::StartStream | Self::CompleteUpload
        )
    }

    /// Returns whether the rate counts per channel instead of per workspace.
    pub(super) const fn is_per_channel(self) -> bool {
        matches!(self, Self::Post)
    }
}
