//! Actors and their grants on three axes.
//!
//! Not here: each surface's default grants (`baseline.rs`), and configured grants (`grants.rs`).

use std::{collections::BTreeSet, sync::Arc};

use ars_types::{ActorClass, Platform};

use crate::{TokenDigest, access, person::Person};

/// Grants all agents.
pub(crate) const EVERY_AGENT: &str = "agent:run:*";
/// Prefix for grants of single agents.
pub(crate) const ONE_AGENT: &str = "agent:run:";

/// A person or machine that acts, as known to a single channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Namespaced id, such as `http:alice` or `cli:local`.
    pub id: String,
    /// What the actor may use.
    pub grants: Grants,
    /// Id of the actor that an agent represents.
    pub principal: Option<String>,
    /// The person to whom the actor or its principal belongs, if the configuration lists several
    /// accounts for that person.
    pub person: Option<Arc<Person>>,
    /// The ingress token that the actor presented.
    pub token: Option<TokenDigest>,
}

/// Grants. An absent axis is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Actions, such as `runs:read` or `agent:run:coding`.
    pub actions: Set,
    /// Ids of the allowed channels.
    pub channels: Set,
    /// Slugs of the allowed repositories.
    pub repos: Set,
}

/// A single axis: everything, or these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    /// Everything on the axis.
    All,
    /// Exactly these members, nothing else.
    Only(BTreeSet<String>),
}

/// A service's ingress, which namespaces the service's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingress {
    /// The route `POST /ingress`.
    Http,
    /// The route `POST /mcp`.
    Mcp,
}

impl Ingress {
    /// Returns the platform for its actor ids, channels and threads.
    pub const fn platform(self) -> Platform {
        match self {
            Self::Http => Platform::Http,
            Self::Mcp => Platform::Mcp,
        }
    }

    /// Returns the ingress of a token holder.
    pub(crate) fn of_actor(id: &str) -> Option<Self> {
        let (platform, _) = Platform::split(id)?;
        [Self::Http, Self::Mcp]
            .into_iter()
            .find(|ingress| ingress.platform() == platform)
    }
}

impl Actor {
    /// Returns an actor without a principal, a person and a token.
    pub fn new(id: impl Into<String>, grants: Grants) -> Self {
        Self {
            id: id.into(),
            grants,
            principal: None,
            person: None,
            token: None,
        }
    }

    /// Returns the class according to the id, or `None` if no platform has such an id.
    pub fn class(&self) -> Option<ActorClass> {
        match Platform::split(&self.id)? {
            (Platform::Access, name) if name.starts_with(access::SERVICE) => {
                Some(ActorClass::Service)
            }
            (platform, _) => platform.rules().actors,
        }
    }

    /// Returns whether `user` is this actor, its principal or an account of the same person.
    pub fn is(&self, user: &str) -> bool {
        self.own_ids().any(|own| own == user)
    }

    /// Returns the ids under which the actor's own things are stored: its own, its principal's and
    /// those of the person's accounts. An id may occur twice.
    pub fn own_ids(&self) -> impl Iterator<Item = &str> {
        let accounts = self.person.iter().flat_map(|person| person.accounts());
        [Some(&self.id), self.principal.as_ref()]
            .into_iter()
            .flatten()
            .chain(accounts)
            .map(String::as_str)
    }

    /// Returns the person's accounts besides the main account.
    pub fn other_accounts(&self) -> impl Iterator<Item = &str> {
        let accounts = self.person.iter().flat_map(|person| person.accounts());
        accounts.skip(1).map(String::as_str)
    }

    /// Returns the id under which new memory and settings are stored: the person's main account.
    pub fn main_account(&self) -> &str {
        let person = self.person.as_ref();
        person.map_or(&self.id, |person| person.main_account())
    }

    /// Returns the actor with additional grants. Configuration only adds grants, so none can be removed.
    #[must_use]
    pub fn with(&self, extra: &Grants) -> Self {
        Self {
            grants: self.grants.union(extra),
            ..self.clone()
        }
    }
}

impl Grants {
    /// Returns all grants on all axes.
    pub fn everything() -> Self {
        Self {
            actions: Set::All,
            channels: Set::All,
            repos: Set::All,
        }
    }

    /// Returns the union, axis by axis.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            actions: self.actions.union(&other.actions),
            channels: self.channels.union(&other.channels),
            repos: self.repos.union(&other.repos),
        }
    }

    /// Intersects each axis; the grant for all agents intersects with that for each agent.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut actions = self.actions.intersection(&other.actions);
        if let Set::Only(shared) = &mut actions {
            shared.extend(self.actions.agents_shared_with(&other.actions));
            shared.extend(other.actions.agents_shared_with(&self.actions));
        }
        Self {
            actions,
            channels: self.channels.intersection(&other.channels),
            repos: self.repos.intersection(&other.repos),
        }
    }
}

impl Default for Set {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Set {
    /// Returns exactly these items. A star among them is an ordinary item.
    pub fn only<T: AsRef<str>>(items: &[T]) -> Self {
        Self::Only(items.iter().map(|item| item.as_ref().to_owned()).collect())
    }

    /// Returns the union with another set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(some), Self::Only(more)) => Self::Only(some.union(more).cloned().collect()),
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    /// Returns the intersection with another set.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(some), Self::Only(more)) => {
                Self::Only(some.intersection(more).cloned().collect())
            }
            (Self::All, both) | (both, Self::All) => both.clone(),
        }
    }

    /// Returns whether `item` is granted.
    pub fn contains(&self, item: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(item),
        }
    }

    /// Returns the single-agent grants in `other` that this set's grant for all agents covers.
    fn agents_shared_with(&self, other: &Self) -> Vec<String> {
        match other {
            Self::Only(items) if self.contains(EVERY_AGENT) => items
                .iter()
                .filter(|item| item.starts_with(ONE_AGENT))
                .cloned()
                .collect(),
            Self::Only(_) | Self::All => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(names: &[&str]) -> Grants {
        Grants {
            actions: Set::only(names),
            ..Grants::default()
        }
    }

    #[test]
    fn extra_grants_only_ever_add() {
        let actor = Actor::new(
            "http:ann",
            Grants {
                channels: Set::only(&["http:ops"]),
                ..actions(&["dispatch"])
            },
        );
        let extra = Grants {
            actions: Set::only(&["runs:read"]),
            channels: Set::All,
            repos: Set::only(&["o/n"]),
        };
        let more = actor.with(&extra);
        assert_eq!(more.id, actor.id);
        assert_eq!(more.grants.actions, Set::only(&["dispatch", "runs:read"]));
        assert_eq!(more.grants.channels, Set::All);
        assert_eq!(more.grants.repos, Set::only(&["o/n"]));
        assert_eq!(more.with(&Grants::default()), more);
        assert_eq!(Actor::cli_local().with(&extra), Actor::cli_local());
    }

    #[test]
    fn intersection_is_in_both_sets() {
        let some = Grants {
            channels: Set::only(&["C1", "C2"]),
            repos: Set::All,
            ..actions(&["a", "b"])
        };
        let other = Grants {
            channels: Set::only(&["C2"]),
            repos: Set::only(&["o/n"]),
            ..actions(&["b", "c"])
        };
        let both = some.intersection(&other);
        let shared = Grants {
            channels: Set::only(&["C2"]),
            repos: Set::only(&["o/n"]),
            ..actions(&["b"])
        };
        assert_eq!(both, shared);
        assert_eq!(other.intersection(&some), shared);
        assert_eq!(some.intersection(&Grants::everything()), some);
        assert_eq!(some.intersection(&Grants::default()), Grants::default());
    }

    #[test]
    fn all_agents_intersect_with_single_agents() {
        let every = actions(&["agent:run:*", "x"]);
        let one = actions(&["agent:run:coding", "y"]);
        assert_eq!(every.intersection(&one), actions(&["agent:run:coding"]));
        assert_eq!(one.intersection(&every), actions(&["agent:run:coding"]));
        assert_eq!(every.intersection(&every), every);
        assert_eq!(one.intersection(&Grants::everything()), one);
    }

    #[test]
    fn class_is_derived_from_the_id() {
        for (id, class) in [
            ("slack:U1", Some(ActorClass::User)),
            ("access:ann", Some(ActorClass::User)),
            ("access:svc:ci", Some(ActorClass::Service)),
            ("cli:local", Some(ActorClass::User)),
            ("http:ann", Some(ActorClass::Service)),
            ("mcp:ann", Some(ActorClass::Service)),
            ("schedule:nightly", Some(ActorClass::Schedule)),
            ("agent:coding", Some(ActorClass::Agent)),
            ("github:ann", None),
            ("telegram:ann", None),
            ("slack", None),
            ("", None),
        ] {
            assert_eq!(Actor::new(id, Grants::default()).class(), class, "{id}");
        }
    }
}
