//! Conditions that a policy row puts on an actor and a resource.

use ars_types::{ActorClass, Visibility};

use super::resource::{Attribute, Resource};
use crate::{
    Actor, Denied,
    actor::{EVERY_AGENT, ONE_AGENT},
};

/// A single condition in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Holds for every actor and resource.
    Always,
    /// The channel is public or among the actor's.
    Member,
    /// The actor has every channel.
    AllChannels,
    /// The resource belongs to the actor, the actor's principal or the same person.
    Own,
    /// The actor is of this kind.
    Class(ActorClass),
    /// The actor holds the grant named like the action.
    Granted,
    /// The actor holds this grant.
    Grant(&'static str),
    /// The actor holds the agent's grant, or the grant for all agents.
    AgentGranted,
    /// The agent has this name.
    AgentIs(&'static str),
    /// The repository is among the actor's.
    RepoListed,
    /// The resource's channel or origin has one of these visibilities.
    Visible(&'static [Visibility]),
}

impl Condition {
    /// Returns the attribute that the condition requires.
    pub(super) const fn needs(self) -> Option<Attribute> {
        match self {
            Self::Member => Some(Attribute::Channel),
            Self::Own => Some(Attribute::User),
            Self::AgentGranted | Self::AgentIs(_) => Some(Attribute::Agent),
            Self::RepoListed => Some(Attribute::Repo),
            Self::Visible(_) => Some(Attribute::Visibility),
            Self::Always | Self::AllChannels | Self::Class(_) | Self::Granted | Self::Grant(_) => {
                None
            }
        }
    }

    /// Returns whether the condition holds. Without the required attribute it does not.
    pub(super) fn holds(self, actor: &Actor, action: &str, resource: &Resource<'_>) -> bool {
        let grants = &actor.grants;
        match self {
            Self::Always => true,
            Self::Member => {
                let listed = |channel| grants.channels.contains(channel);
                resource.channel().is_some_and(listed)
                    || resource.visibility() == Visibility::Public
            }
            Self::AllChannels => grants.channels == crate::Set::All,
            Self::Own => resource.user().is_some_and(|user| actor.is(user)),
            Self::Class(class) => actor.class() == Some(class),
            Self::Granted => grants.actions.contains(action),
            Self::Grant(grant) => grants.actions.contains(grant),
            Self::AgentGranted => resource.agent().is_some_and(|agent| {
                grants.actions.contains(&format!("{ONE_AGENT}{agent}"))
                    || grants.actions.contains(EVERY_AGENT)
            }),
            Self::AgentIs(name) => resource.agent() == Some(name),
            Self::RepoListed => resource.repo().is_some_and(|repo| {
                grants.repos.contains(repo) || grants.repos.contains(&repo.to_ascii_lowercase())
            }),
            Self::Visible(words) => words.contains(&resource.visibility()),
        }
    }

    /// Returns why access is denied if the condition does not hold.
    pub(super) const fn refusal(self) -> Denied {
        match self {
            Self::Member | Self::AllChannels => Denied::NotMember,
            Self::Own => Denied::NotSelf,
            Self::Class(_) => Denied::WrongKind,
            Self::AgentIs(_) => Denied::WrongAgent,
            Self::Visible(_) => Denied::WrongVisibility,
            Self::Always
            | Self::Granted
            | Self::Grant(_)
            | Self::AgentGranted
            | Self::RepoListed => Denied::MissingGrant,
        }
    }
}
