//! A command's caller: an authenticated actor on a surface.

use ars_auth::{Actor, Ingress, TokenEntry, policy::stamp};
use ars_bot_ports::IncomingMessage;
use ars_commands::Surface;
use ars_events::ActorKind;
use ars_types::{CLI_LOCAL, Platform, Visibility};

/// An authenticated command caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Where the call came from.
    pub surface: Surface,
    /// The caller kind, for the audit line and for stops.
    pub kind: ActorKind,
    /// The actor, with or without the configured grants: they are added here.
    pub actor: Actor,
    /// The caller's own channel, if present.
    pub origin: Option<Origin>,
}

/// The channel that a caller calls from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Namespaced channel id.
    pub channel: String,
    /// Who may see it.
    pub visibility: Visibility,
}

impl Caller {
    /// Returns the command line user.
    pub fn cli() -> Self {
        let origin = Origin {
            channel: CLI_LOCAL.to_owned(),
            visibility: stamp(CLI_LOCAL, None),
        };
        Self {
            surface: Surface::Cli,
            kind: ActorKind::Cli,
            actor: Actor::cli_local(),
            origin: Some(origin),
        }
    }

    /// Returns a dashboard viewer that calls `/api`, which has no channel.
    pub fn dashboard(actor: Actor) -> Self {
        Self {
            surface: Surface::Api,
            kind: ActorKind::Access,
            actor,
            origin: None,
        }
    }

    /// Returns an ingress token's holder that calls a tool, with the pinned channel.
    pub fn mcp(entry: &TokenEntry) -> Self {
        let channel = entry
            .channel
            .as_ref()
            .map(|channel| Platform::Mcp.id(channel));
        let origin = channel.map(|channel| Origin {
            channel,
            visibility: Platform::Mcp.visibility(),
        });
        let actor = Actor::service(Ingress::Mcp, entry);
        Self {
            surface: Surface::Mcp,
            kind: ActorKind::Mcp,
            actor,
            origin,
        }
    }

    /// Returns the sender of a command message, in any channel.
    pub fn chat(message: &IncomingMessage) -> Self {
        let origin = Origin {
            channel: message.channel_id.clone(),
            visibility: message.visibility,
        };
        let actor = message.actor.clone();
        Self {
            surface: Surface::Chat,
            kind: ActorKind::Chat,
            actor,
            origin: Some(origin),
        }
    }
}
