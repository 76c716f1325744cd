//! Default grants of actors, by surface.
//!
//! Not here: configured grants (`grants.rs`).

use crate::{Actor, Grants, Ingress, Restrictions, Set, TokenEntry, actor::ONE_AGENT, policy::GROUPS};

/// Grants of every Slack user, in addition to unrestricted agents.
const SLACK_USER: [&str; 10] = [
    "help:read",
    "config:read",
    "repo:read",
    "friction:read",
    "memory:read",
    "mcp:read",
    "schedule:read",
    "status:read",
    "memory:write",
    "mcp:write",
];

impl Actor {
    /// Returns the holder of an ingress token. Its scopes are its grants, and it sees only its pinned channel.
    pub fn service(ingress: Ingress, entry: &TokenEntry) -> Self {
        let platform = ingress.as_str();
        let channel = entry.channel.iter().map(|channel| format!("{platform}:{channel}"));
        let grants = Grants {
            actions: Set::of(&entry.scopes),
            channels: Set::Only(channel.collect()),
            repos: Set::default(),
        };
        Self::new(format!("{platform}:{}", entry.subject), grants)
    }

    /// Returns a Slack user, who may run the unrestricted ones of `agents`.
    pub fn slack<'a>(
        user: &str,
        agents: impl IntoIterator<Item = &'a str>,
        restrictions: &Restrictions,
    ) -> Self {
        let open = agents.into_iter().filter(|agent| !restrictions.agents.contains(*agent));
        let open = open.map(|agent| format!("{ONE_AGENT}{agent}"));
        let actions = SLACK_USER.iter().map(|&action| action.to_owned()).chain(open).collect();
        Self::new(format!("slack:{user}"), Grants { actions: Set::Only(actions), ..Grants::default() })
    }

    /// Returns the user of the local command line, with all grants.
    pub fn cli_local() -> Self {
        Self::new("cli:local", Grants::everything())
    }

    /// Returns a dashboard session. It may read every command group, and sees public runs and its own.
    pub fn browser(id: &str) -> Self {
        let actions = Set::Only(GROUPS.iter().map(|group| format!("{group}:read")).collect());
        Self::new(id, Grants { actions, ..Grants::default() })
    }

    /// Returns a machine known to the access proxy by name. It has only configured grants.
    pub fn access_service(common_name: &str) -> Self {
        Self::new(format!("access:svc:{common_name}"), Grants::default())
    }

    /// Returns a schedule with its declared grants.
    pub fn schedule(name: &str, declared: Grants) -> Self {
        Self::new(format!("schedule:{name}"), declared)
    }

    /// Returns an agent acting for a principal. It has the intersection of both grants.
    pub fn agent(name: &str, own: &Grants, principal: &Actor) -> Self {
        Self {
            id: format!("agent:{name}"),
            grants: own.intersection(&principal.grants),
            principal: Some(principal.id.clone()),
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
    fn service_has_only_its_scopes_and_channel() {
        let actor = Actor::service(Ingress::Mcp, &entry(Some("ops"), &["dispatch", "runs:read"]));
        let grants = Grants {
            actions: Set::of(&["dispatch", "runs:read"]),
            channels: Set::of(&["mcp:ops"]),
            repos: Set::default(),
        };
        assert_eq!(actor, Actor::new("mcp:ann", grants));
        let unpinned = Actor::service(Ingress::Http, &entry(None, &[]));
        assert_eq!(unpinned, Actor::new("http:ann", Grants::default()));
    }

    #[test]
    fn a_star_among_the_scopes_is_not_everything() {
        let actor = Actor::service(Ingress::Http, &entry(Some("*"), &["*", "all"]));
        assert!(!actor.grants.actions.contains("runs:read"));
        assert!(!actor.grants.channels.contains("http:ops"));
    }

    #[test]
    fn slack_user_has_only_the_baseline() {
        let closed = Restrictions { agents: ["coding".to_owned()].into(), ..Restrictions::default() };
        let actor = Actor::slack("U1", ["general", "coding"], &closed);
        assert_eq!(actor.id, "slack:U1");
        let allowed = ["help:read", "config:read", "memory:write", "mcp:write", "agent:run:general"];
        assert!(allowed.iter().all(|action| actor.grants.actions.contains(action)));
        for action in [
            "agent:run:coding",
            "runs:read",
            "runs:write",
            "repo:write",
            "repo:exec",
            "friction:write",
            "config:write",
            "deploy:read",
            "deploy:write",
            "review:write",
            "env:write",
        ] {
            assert!(!actor.grants.actions.contains(action), "{action}");
        }
        assert_eq!((actor.grants.channels, actor.grants.repos), (Set::default(), Set::default()));
    }

    #[test]
    fn browser_only_reads_and_access_service_has_none() {
        let session = Actor::browser("access:ann");
        for group in GROUPS {
            assert!(session.grants.actions.contains(&format!("{group}:read")), "{group}");
            assert!(!session.grants.actions.contains(&format!("{group}:write")), "{group}");
        }
        assert_eq!(Actor::access_service("ci"), Actor::new("access:svc:ci", Grants::default()));
    }

    #[test]
    fn agent_has_the_intersection_and_its_principal() {
        let own = Grants { actions: Set::of(&["runs:read", "repo:exec"]), ..Grants::everything() };
        let principal = Actor::slack("U1", [], &Restrictions::default())
            .with(&Grants { actions: Set::of(&["runs:read"]), ..Grants::default() });
        let agent = Actor::agent("coding", &own, &principal);
        assert_eq!(agent.grants.actions, Set::of(&["runs:read"]));
        assert_eq!(agent.grants.channels, Set::default());
        assert!(agent.is("agent:coding") && agent.is("slack:U1") && !agent.is("slack:U2"));
    }
}
