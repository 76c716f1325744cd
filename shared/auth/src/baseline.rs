//! Default grants for actors, by surface.
//!
//! Not here: configured grants (`grants.rs`).

use ars_types::{CLI_LOCAL, Platform};

use crate::{Actor, Grants, Ingress, Set, TokenEntry, policy::GROUPS};

/// Permissions of every member of a Slack workspace. Runs, costs and deployments are not among them.
const SLACK_ACTIONS: [&str; 10] = [
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
    /// Returns an ingress token's holder. The scopes are the grants, and it sees only its pinned
    /// channel.
    pub fn service(ingress: Ingress, entry: &TokenEntry) -> Self {
        let platform = ingress.platform();
        let channel = entry.channel.iter().map(|channel| platform.id(channel));
        let grants = Grants {
            actions: Set::only(&entry.scopes),
            channels: Set::Only(channel.collect()),
            repos: Set::default(),
        };
        Self {
            token: Some(entry.digest.clone()),
            ..Self::new(platform.id(&entry.subject), grants)
        }
    }

    /// Returns the local command line's user, with all grants.
    pub fn cli_local() -> Self {
        Self::new(CLI_LOCAL, Grants::everything())
    }

    /// Returns a dashboard session. It may read every command group, and sees public runs and its own.
    pub fn browser(id: &str) -> Self {
        let actions = Set::Only(GROUPS.iter().map(|group| format!("{group}:read")).collect());
        Self::new(
            id,
            Grants {
                actions,
                ..Grants::default()
            },
        )
    }

    /// Returns a member of a Slack workspace, who may read most command groups and keep memories and
    /// tool servers of their own. Agents that are not restricted are open to every actor.
    pub fn slack(user: &str) -> Self {
        let grants = Grants {
            actions: Set::only(&SLACK_ACTIONS),
            ..Grants::default()
        };
        Self::new(Platform::Slack.id(user), grants)
    }

    /// Returns an agent acting for a principal, with the intersection of both grants.
    pub fn agent(name: &str, own: &Grants, principal: &Actor) -> Self {
        Self {
            id: Platform::Agent.id(name),
            grants: own.intersection(&principal.grants),
            principal: Some(principal.id.clone()),
            person: principal.person.clone(),
            token: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_types::ChannelName;

    use super::*;
    use crate::TokenDigest;

    fn entry(channel: Option<&str>, scopes: &[&str]) -> TokenEntry {
        let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        TokenEntry {
            subject: "ann".into(),
            channel: channel.map(|name| ChannelName::parse(name).unwrap()),
            scopes,
            digest: TokenDigest::default(),
        }
    }

    #[test]
    fn service_has_only_its_scopes_and_channel() {
        let actor = Actor::service(
            Ingress::Mcp,
            &entry(Some("ops"), &["dispatch", "runs:read"]),
        );
        let grants = Grants {
            actions: Set::only(&["dispatch", "runs:read"]),
            channels: Set::only(&["mcp:ops"]),
            repos: Set::default(),
        };
        let token = Some(TokenDigest::default());
        assert_eq!(
            actor,
            Actor {
                token: token.clone(),
                ..Actor::new("mcp:ann", grants)
            }
        );
        let unpinned = Actor::service(Ingress::Http, &entry(None, &[]));
        assert_eq!(
            unpinned,
            Actor {
                token,
                ..Actor::new("http:ann", Grants::default())
            }
        );
    }

    #[test]
    fn a_star_among_the_scopes_is_not_everything() {
        let actor = Actor::service(Ingress::Http, &entry(Some("*"), &["*", "all"]));
        assert!(!actor.grants.actions.contains("runs:read"));
        assert!(!actor.grants.channels.contains("http:ops"));
    }

    #[test]
    fn browser_only_reads() {
        let session = Actor::browser("access:ann");
        for group in GROUPS {
            assert!(
                session.grants.actions.contains(&format!("{group}:read")),
                "{group}"
            );
            assert!(
                !session.grants.actions.contains(&format!("{group}:write")),
                "{group}"
            );
        }
    }

    #[test]
    fn agent_has_the_intersection_and_its_principal() {
        let own = Grants {
            actions: Set::only(&["runs:read", "repo:exec"]),
            ..Grants::everything()
        };
        let reader = Grants {
            actions: Set::only(&["runs:read", "memory:read"]),
            ..Grants::default()
        };
        let principal = Actor::new("slack:U1", reader);
        let agent = Actor::agent("coding", &own, &principal);
        assert_eq!(agent.grants.actions, Set::only(&["runs:read"]));
        assert_eq!(agent.grants.channels, Set::default());
        assert!(agent.is("agent:coding") && agent.is("slack:U1") && !agent.is("slack:U2"));
    }
}
