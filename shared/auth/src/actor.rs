//! Actors and their grants on three axes (bot supplement section 7.1).

use std::collections::BTreeSet;

use crate::TokenEntry;

/// The command groups of the policy table (bot supplement section 7.2); a browser session may read them all.
const GROUPS: [&str; 12] = [
    "runs", "friction", "repo", "config", "help", "status", "schedule", "deploy", "mcp", "memory", "review",
    "env",
];

/// The ingress a service came through; it namespaces the service's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingress {
    /// `POST /ingress`.
    Http,
    /// `POST /mcp`.
    Mcp,
}

/// Somebody or something that acts, as one channel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Namespaced id, such as `http:alice` or `cli:local`.
    pub id: String,
    /// What it may do.
    pub grants: Grants,
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
    /// The holder of an ingress token: its scopes are its grants, its pinned channel the only channel it sees.
    pub fn service(ingress: Ingress, entry: &TokenEntry) -> Self {
        let platform = ingress.as_str();
        let channel = entry.channel.iter().map(|channel| format!("{platform}:{channel}"));
        let grants = Grants {
            actions: Set::of(&entry.scopes),
            channels: Set::Only(channel.collect()),
            repos: Set::default(),
        };
        Self { id: format!("{platform}:{}", entry.subject), grants }
    }

    /// The user of this machine's command line, who may do everything.
    pub fn cli_local() -> Self {
        let grants = Grants { actions: Set::All, channels: Set::All, repos: Set::All };
        Self { id: "cli:local".into(), grants }
    }

    /// A dashboard session: it may read every command group, and sees public runs and its own.
    pub fn browser(id: &str) -> Self {
        let actions = Set::Only(GROUPS.iter().map(|group| format!("{group}:read")).collect());
        Self { id: id.to_owned(), grants: Grants { actions, ..Grants::default() } }
    }

    /// The same actor with more grants. There is no way to take one away: configuration only ever adds.
    #[must_use]
    pub fn with(&self, extra: &Grants) -> Self {
        Self { id: self.id.clone(), grants: self.grants.union(extra) }
    }
}

impl Grants {
    /// What either grants, axis by axis.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            actions: self.actions.union(&other.actions),
            channels: self.channels.union(&other.channels),
            repos: self.repos.union(&other.repos),
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

    /// Whether `item` is granted.
    pub fn contains(&self, item: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(channel: Option<&str>, scopes: &[&str]) -> TokenEntry {
        let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        TokenEntry { subject: "ann".into(), channel: channel.map(str::to_owned), scopes }
    }

    #[test]
    fn a_service_has_its_scopes_and_its_pinned_channel_and_nothing_else() {
        let actor = Actor::service(Ingress::Mcp, &entry(Some("ops"), &["dispatch", "runs:read"]));
        let grants = Grants {
            actions: Set::of(&["dispatch", "runs:read"]),
            channels: Set::of(&["mcp:ops"]),
            repos: Set::default(),
        };
        assert_eq!(actor, Actor { id: "mcp:ann".into(), grants });
        let unpinned = Actor::service(Ingress::Http, &entry(None, &[]));
        assert_eq!(unpinned, Actor { id: "http:ann".into(), grants: Grants::default() });
    }

    #[test]
    fn a_star_among_the_scopes_is_not_everything() {
        let actor = Actor::service(Ingress::Http, &entry(Some("*"), &["*", "all"]));
        assert!(!actor.grants.actions.contains("runs:read"));
        assert!(!actor.grants.channels.contains("http:ops"));
    }

    #[test]
    fn extra_grants_only_ever_add() {
        let actor = Actor::service(Ingress::Http, &entry(Some("ops"), &["dispatch"]));
        let extra = Grants { actions: Set::of(&["runs:read"]), channels: Set::All, repos: Set::of(&["o/n"]) };
        let more = actor.with(&extra);
        assert_eq!(more.id, actor.id);
        assert_eq!(more.grants.actions, Set::of(&["dispatch", "runs:read"]));
        assert_eq!(more.grants.channels, Set::All);
        assert_eq!(more.grants.repos, Set::of(&["o/n"]));
        assert_eq!(more.with(&Grants::default()), more);
        assert_eq!(Actor::cli_local().with(&extra), Actor::cli_local());
    }
}
