//! Platforms, which begin actor, channel and thread ids, with their rules.
//!
//! Whoever reads an id rejects an unknown platform, which has no rules. Not here: the channels that
//! send messages (`ars-bot-ports`) and the command surfaces (`ars-commands`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Visibility, status::words};

/// Actor id and channel id on the local command line.
pub const CLI_LOCAL: &str = "cli:local";

words!(
    /// A platform through which people and machines reach the service.
    Platform {
        /// The chat platform Slack.
        Slack = "slack",
        /// The route `POST /ingress`.
        Http = "http",
        /// The route `POST /mcp`.
        Mcp = "mcp",
        /// The code host, through webhooks.
        CodeHost = "github",
        /// The local command line.
        Cli = "cli",
        /// Schedules when they fire.
        Schedule = "schedule",
        /// The dashboard, with or without an access proxy.
        Access = "access",
        /// Agents that act for another actor.
        Agent = "agent",
    }
);

/// Actor class, which decides permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorClass {
    /// A person, not a machine.
    User,
    /// A machine with a token.
    Service,
    /// A schedule that fires.
    Schedule,
    /// An agent that acts for another actor.
    Agent,
}

/// Actors that can have an entry below `[grants]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grantees {
    /// No actor can have an entry.
    None,
    /// Single actors can have an entry.
    Actors,
    /// Single actors, and everyone on the platform by `<platform>:*`.
    ActorsAndPlatform,
}

/// How a reply reaches the requester from a process that did not receive the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyPath {
    /// Not at all: the requester is gone with the process.
    None,
    /// The requester reads the run's record.
    Record,
    /// The thread key names a conversation, which the reply is written to.
    Conversation,
}

/// Channel traits that the core decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelTraits {
    /// Whether the requester's run can wait for a free slot. Otherwise the request is refused.
    pub can_wait: bool,
    /// Whether messages can contain text from strangers, such as a check's name.
    pub has_untrusted_text: bool,
    /// Whether the same reply can be sent again: it replaces the earlier one, or is left out if that
    /// is there.
    pub repeats_replies: bool,
    /// Whether a destructive command waits for the requester's confirmation.
    pub can_confirm: bool,
}

impl ChannelTraits {
    /// A requester that does not wait at an open connection, in a thread without strangers.
    pub const PATIENT: Self = Self {
        can_wait: true,
        has_untrusted_text: false,
        repeats_replies: false,
        can_confirm: false,
    };
}

/// Rules for a platform's channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelRules {
    /// Visibility if no lookup resolves it.
    pub visibility: Visibility,
    /// How replies leave another process.
    pub reply_path: ReplyPath,
    /// Traits, unless the request changes them.
    pub traits: ChannelTraits,
}

/// Rules for a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformRules {
    /// Actor class, or `None` if users act under ids from other platforms only.
    pub actors: Option<ActorClass>,
    /// Actors that the configuration can grant permissions to.
    pub grantees: Grantees,
    /// Channel rules, or `None` without channels and threads.
    pub channels: Option<ChannelRules>,
    /// Another platform under which actors count against limits.
    pub counts_as: Option<Platform>,
    /// Whether idempotency keys use the platform name as their subject, which tokens therefore cannot.
    pub is_key_subject: bool,
}

/// Permits nothing. Each platform adds to it.
const CLOSED: PlatformRules = PlatformRules {
    actors: None,
    grantees: Grantees::None,
    channels: None,
    counts_as: None,
    is_key_subject: false,
};

/// Most restrictive traits, where there is no channel.
const NO_CHANNEL: ChannelTraits = ChannelTraits {
    can_wait: false,
    has_untrusted_text: true,
    repeats_replies: false,
    can_confirm: false,
};

/// Callers that wait at an open connection, and read the record if the run outlasts it.
const CALLER: ChannelRules = ChannelRules {
    visibility: Visibility::Machine,
    reply_path: ReplyPath::Record,
    traits: ChannelTraits {
        can_wait: false,
        ..ChannelTraits::PATIENT
    },
};

const SLACK: PlatformRules = PlatformRules {
    actors: Some(ActorClass::User),
    grantees: Grantees::ActorsAndPlatform,
    channels: Some(ChannelRules {
        visibility: Visibility::Unknown,
        reply_path: ReplyPath::Conversation,
        traits: ChannelTraits {
            repeats_replies: true,
            can_confirm: true,
            ..ChannelTraits::PATIENT
        },
    }),
    is_key_subject: true,
    ..CLOSED
};

const HTTP: PlatformRules = PlatformRules {
    actors: Some(ActorClass::Service),
    grantees: Grantees::ActorsAndPlatform,
    channels: Some(CALLER),
    ..CLOSED
};

/// A token is the same caller over HTTP and MCP.
const MCP: PlatformRules = PlatformRules {
    counts_as: Some(Platform::Http),
    ..HTTP
};

/// The configuration maps logins to actors on other platforms.
const CODE_HOST: PlatformRules = PlatformRules {
    channels: Some(ChannelRules {
        // Whether strangers can read the repository is not known.
        visibility: Visibility::Private,
        reply_path: ReplyPath::Conversation,
        traits: ChannelTraits {
            can_wait: true,
            has_untrusted_text: true,
            repeats_replies: true,
            can_confirm: false,
        },
    }),
    is_key_subject: true,
    ..CLOSED
};

/// The local user has every grant, so that no entry can add more.
const CLI: PlatformRules = PlatformRules {
    actors: Some(ActorClass::User),
    channels: Some(ChannelRules {
        visibility: Visibility::Unknown,
        reply_path: ReplyPath::None,
        traits: ChannelTraits::PATIENT,
    }),
    ..CLOSED
};

const SCHEDULE: PlatformRules = PlatformRules {
    actors: Some(ActorClass::Schedule),
    grantees: Grantees::Actors,
    channels: Some(ChannelRules {
        visibility: Visibility::Machine,
        reply_path: ReplyPath::None,
        traits: ChannelTraits::PATIENT,
    }),
    ..CLOSED
};

const ACCESS: PlatformRules = PlatformRules {
    actors: Some(ActorClass::User),
    grantees: Grantees::ActorsAndPlatform,
    ..CLOSED
};

/// An agent has at most its principal's grants, so that no entry can add more.
const AGENT: PlatformRules = PlatformRules {
    actors: Some(ActorClass::Agent),
    ..CLOSED
};

impl Platform {
    /// Returns the row for this platform.
    pub const fn rules(self) -> &'static PlatformRules {
        match self {
            Self::Slack => &SLACK,
            Self::Http => &HTTP,
            Self::Mcp => &MCP,
            Self::CodeHost => &CODE_HOST,
            Self::Cli => &CLI,
            Self::Schedule => &SCHEDULE,
            Self::Access => &ACCESS,
            Self::Agent => &AGENT,
        }
    }

    /// Splits `<platform>:<name>`. Returns `None` if the platform is missing or unknown.
    pub fn split(id: &str) -> Option<(Self, &str)> {
        let (platform, name) = id.split_once(':')?;
        Some((Self::parse(platform)?, name))
    }

    /// Returns the actor id or channel id for a name.
    pub fn id(self, name: impl fmt::Display) -> String {
        format!("{self}:{name}")
    }

    /// Returns the channels' visibility if no lookup resolves it, `Unknown` without channels.
    pub fn visibility(self) -> Visibility {
        self.rules()
            .channels
            .map_or(Visibility::Unknown, |channels| channels.visibility)
    }

    /// Returns the channel traits, the most restrictive traits without channels.
    pub fn channel_traits(self) -> ChannelTraits {
        self.rules()
            .channels
            .map_or(NO_CHANNEL, |channels| channels.traits)
    }

    /// Returns how a reply reaches the requester from another process.
    pub fn reply_path(self) -> ReplyPath {
        self.rules()
            .channels
            .map_or(ReplyPath::None, |channels| channels.reply_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_split_at_the_first_colon() {
        for (id, parts) in [
            ("http:ann", Some((Platform::Http, "ann"))),
            (
                "github:acme/app:1",
                Some((Platform::CodeHost, "acme/app:1")),
            ),
            ("schedule:", Some((Platform::Schedule, ""))),
            (CLI_LOCAL, Some((Platform::Cli, "local"))),
            ("telegram:ann", None),
            ("HTTP:ann", None),
            ("http", None),
            (":ann", None),
            ("", None),
        ] {
            assert_eq!(Platform::split(id), parts, "{id}");
        }
    }

    #[test]
    fn id_of_a_split_name_is_the_same_id() {
        for platform in Platform::ALL {
            let id = platform.id("a:b");
            assert_eq!(Platform::split(&id), Some((*platform, "a:b")));
        }
    }

    #[test]
    fn only_the_code_host_has_text_of_strangers() {
        let has_untrusted_text = |platform: &&Platform| {
            platform
                .rules()
                .channels
                .is_some_and(|channels| channels.traits.has_untrusted_text)
        };
        let untrusted: Vec<_> = Platform::ALL.iter().filter(has_untrusted_text).collect();
        assert_eq!(untrusted, [&Platform::CodeHost]);
    }

    /// No row opens a channel to everyone: only a lookup can.
    #[test]
    fn no_platform_is_public_by_default() {
        assert!(
            Platform::ALL
                .iter()
                .all(|platform| platform.visibility() != Visibility::Public)
        );
    }
}
