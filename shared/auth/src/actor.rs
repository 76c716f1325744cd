//! Actors and their grants on three axes (bot supplement section 7.1).
//!
//! Not here: which surface gives an actor which grants (`baseline.rs`), and what configuration adds (`grants.rs`).

use std::collections::BTreeSet;

/// The grant of every agent at once.
pub(crate) const EVERY_AGENT: &str = "agent:run:*";
/// What grants of single agents begin with.
pub(crate) const ONE_AGENT: &str = "agent:run:";

/// Somebody or something that acts, as one channel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Namespaced id, such as `http:alice` or `cli:local`.
    pub id: String,
    /// What it may do.
    pub grants: Grants,
    /// Id of the actor it acts for; only an agent has one.
    pub principal: Option<String>,
}

/// What sort of actor it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    User,
    /// A machine with a token.
    Service,
    /// A schedule that fires.
    Schedule,
    /// An agent that acts for somebody.
    Agent,
}

/// Grants; an absent axis is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Actions, such as `runs:read` or `agent:run:coding`.
    pub actions: Set,
    /// Channel ids.
    pub channels: Set,
    /// Repository slugs.
    pub repos: Set,
}

/// One axis: everything, or these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    /// Everything.
    All,
    /// Exactly these.
    Only(BTreeSet<String>),
}

/// The ingress a service came through; it namespaces the service's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingress {
    /// `POST /ingress`.
    Http,
    /// `POST /mcp`.
    Mcp,
}

impl Ingress {
    /// The prefix of actor ids, channels and threads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

impl Actor {
    /// Somebody who acts for nobody else.
    pub fn new(id: impl Into<String>, grants: Grants) -> Self {
        Self { id: id.into(), grants, principal: None }
    }

    /// What sort of actor its id says it is; none when no surface makes such ids.
    pub fn kind(&self) -> Option<Kind> {
        match self.id.split_once(':')? {
            ("access", name) if name.starts_with("svc:") => Some(Kind::Service),
            ("slack" | "access" | "cli", _) => Some(Kind::User),
            ("http" | "mcp", _) => Some(Kind::Service),
            ("schedule", _) => Some(Kind::Schedule),
            ("agent", _) => Some(Kind::Agent),
            _ => None,
        }
    }

    /// Whether `user` is this actor, or whom it acts for.
    pub fn is(&self, user: &str) -> bool {
        self.id == user || self.principal.as_deref() == Some(user)
    }

    /// The same actor with more grants. There is no way to take one away: configuration only ever adds.
    #[must_use]
    pub fn with(&self, extra: &Grants) -> Self {
        Self { grants: self.grants.union(extra), ..self.clone() }
    }
}

impl Grants {
    /// Everything on every axis.
    pub fn everything() -> Self {
        Self { actions: Set::All, channels: Set::All, repos: Set::All }
    }

    /// What either grants, axis by axis.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            actions: self.actions.union(&other.actions),
            channels: self.channels.union(&other.channels),
            repos: self.repos.union(&other.repos),
        }
    }

    /// What both grant, axis by axis. Who may run every agent shares each agent that the other may run.
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
    /// Exactly these. A star among them is one more name, not everything.
    pub fn of<T: AsRef<str>>(items: &[T]) -> Self {
        Self::Only(items.iter().map(|item| item.as_ref().to_owned()).collect())
    }

    /// What either holds.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(some), Self::Only(more)) => Self::Only(some.union(more).cloned().collect()),
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    /// What both hold.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Only(some), Self::Only(more)) => Self::Only(some.intersection(more).cloned().collect()),
            (Self::All, both) | (both, Self::All) => both.clone(),
        }
    }

    /// Whether `item` is granted.
    pub fn contains(&self, item: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(item),
        }
    }

    /// The grants of single agents in `other` that this set's grant of every agent covers.
    fn agents_shared_with(&self, other: &Self) -> Vec<String> {
        match other {
            Self::Only(items) if self.contains(EVERY_AGENT) => {
                items.iter().filter(|item| item.starts_with(ONE_AGENT)).cloned().collect()
            }
            Self::Only(_) | Self::All => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(names: &[&str]) -> Grants {
        Grants { actions: Set::of(names), ..Grants::default() }
    }

    #[test]
    fn extra_grants_only_ever_add() {
        let actor =
            Actor::new("http:ann", Grants { channels: Set::of(&["http:ops"]), ..actions(&["dispatch"]) });
        let extra = Grants { actions: Set::of(&["runs:read"]), channels: Set::All, repos: Set::of(&["o/n"]) };
        let more = actor.with(&extra);
        assert_eq!(more.id, actor.id);
        assert_eq!(more.grants.actions, Set::of(&["dispatch", "runs:read"]));
        assert_eq!(more.grants.channels, Set::All);
        assert_eq!(more.grants.repos, Set::of(&["o/n"]));
        assert_eq!(more.with(&Grants::default()), more);
        assert_eq!(Actor::cli_local().with(&extra), Actor::cli_local());
    }

    #[test]
    fn what_two_share_is_what_each_of_them_has() {
        let some = Grants { channels: Set::of(&["C1", "C2"]), repos: Set::All, ..actions(&["a", "b"]) };
        let other = Grants { channels: Set::of(&["C2"]), repos: Set::of(&["o/n"]), ..actions(&["b", "c"]) };
        let both = some.intersection(&other);
        let shared = Grants { channels: Set::of(&["C2"]), repos: Set::of(&["o/n"]), ..actions(&["b"]) };
        assert_eq!(both, shared);
        assert_eq!(other.intersection(&some), shared);
        assert_eq!(some.intersection(&Grants::everything()), some);
        assert_eq!(some.intersection(&Grants::default()), Grants::default());
    }

    #[test]
    fn who_may_run_every_agent_shares_the_single_ones_of_the_other() {
        let every = actions(&["agent:run:*", "x"]);
        let one = actions(&["agent:run:coding", "y"]);
        assert_eq!(every.intersection(&one), actions(&["agent:run:coding"]));
        assert_eq!(one.intersection(&every), actions(&["agent:run:coding"]));
        assert_eq!(every.intersection(&every), every);
        assert_eq!(one.intersection(&Grants::everything()), one);
    }

    #[test]
    fn an_id_tells_the_kind_and_an_unknown_one_tells_none() {
        for (id, kind) in [
            ("slack:U1", Some(Kind::User)),
            ("access:ann", Some(Kind::User)),
            ("access:svc:ci", Some(Kind::Service)),
            ("cli:local", Some(Kind::User)),
            ("http:ann", Some(Kind::Service)),
            ("mcp:ann", Some(Kind::Service)),
            ("schedule:nightly", Some(Kind::Schedule)),
            ("agent:coding", Some(Kind::Agent)),
            ("telegram:ann", None),
            ("slack", None),
            ("", None),
        ] {
            assert_eq!(Actor::new(id, Grants::default()).kind(), kind, "{id}");
        }
    }
}
