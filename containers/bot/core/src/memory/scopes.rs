//! The scopes a run uses and its user may read (docs/reference/configuration.md#policy).
//!
//! A user that may read a user's, channel's or repository's memory may also write it. For the
//! organization's memory the channel's visibility decides at the write (`ars_memory::reflection`).

use ars_auth::{
    Actor,
    policy::{Resource, decide},
};
use ars_memory::Scopes;
use ars_types::Visibility;
use serde::{Deserialize, Serialize};

/// The action checked for reading.
const READ: &str = "memory:read";

/// Where a run takes place.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The organization, if it is configured.
    pub organization: Option<&'a str>,
    /// The repository, if any.
    pub repository: Option<&'a str>,
    /// Id of the channel.
    pub channel: &'a str,
    /// Who may see the channel.
    pub visibility: Visibility,
}

/// A run's memory scopes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunScopes {
    organization: Option<String>,
    repository: Option<String>,
    channel: Option<String>,
    user: Option<String>,
}

impl RunScopes {
    /// Returns the scopes that this user may read. The actor has the configured grants.
    pub fn permitted(place: &Place<'_>, actor: &Actor) -> Self {
        let Place {
            organization,
            repository,
            channel,
            visibility,
        } = *place;
        let if_permitted = |name: &str, resource: Resource<'_>| {
            decide(actor, READ, &resource)
                .is_ok()
                .then(|| name.to_owned())
        };
        Self {
            organization: organization
                .and_then(|name| if_permitted(name, Resource::OrgScope { origin: visibility })),
            repository: repository.and_then(|name| if_permitted(name, Resource::RepoScope(name))),
            channel: if_permitted(
                channel,
                Resource::ChannelScope {
                    channel,
                    visibility,
                },
            ),
            user: if_permitted(&actor.id, Resource::UserScope(&actor.id)),
        }
    }

    /// Borrows the scope inputs.
    pub fn view(&self) -> Scopes<'_> {
        Scopes {
            organization: self.organization.as_deref(),
            repository: self.repository.as_deref(),
            channel: self.channel.as_deref(),
            user: self.user.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_auth::{Grants, Set};

    use super::*;

    fn keys(channels: &[&str], repos: &[&str], visibility: Visibility) -> Vec<String> {
        let grants = Grants {
            actions: Set::default(),
            channels: Set::only(channels),
            repos: Set::only(repos),
        };
        let place = Place {
            organization: Some("acme"),
            repository: Some("acme/app"),
            channel: "C1",
            visibility,
        };
        let scopes = RunScopes::permitted(&place, &Actor::new("slack:ann", grants));
        scopes
            .view()
            .keys()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn everybody_has_the_organizations_and_their_own_memory() {
        for visibility in [
            Visibility::Private,
            Visibility::Dm,
            Visibility::Machine,
            Visibility::Unknown,
        ] {
            assert_eq!(keys(&[], &[], visibility), ["org:acme", "user:slack:ann"]);
        }
    }

    #[test]
    fn private_channel_scope_requires_membership() {
        assert_eq!(
            keys(&[], &[], Visibility::Public),
            ["org:acme", "channel:C1", "user:slack:ann"]
        );
        assert_eq!(
            keys(&["C1"], &[], Visibility::Private),
            ["org:acme", "channel:C1", "user:slack:ann"]
        );
        assert_eq!(
            keys(&["C2"], &[], Visibility::Private),
            ["org:acme", "user:slack:ann"]
        );
    }

    #[test]
    fn repository_scope_requires_a_grant() {
        let expected = ["org:acme", "repo:acme/app", "user:slack:ann"];
        assert_eq!(keys(&[], &["acme/app"], Visibility::Machine), expected);
        assert_eq!(
            keys(&[], &["acme/site"], Visibility::Machine),
            ["org:acme", "user:slack:ann"]
        );
    }

    #[test]
    fn absent_places_have_no_scope() {
        let place = Place {
            organization: None,
            repository: None,
            channel: "cli:x",
            visibility: Visibility::Machine,
        };
        let scopes = RunScopes::permitted(&place, &Actor::cli_local());
        let keys: Vec<_> = scopes
            .view()
            .keys()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(keys, ["channel:cli:x", "user:cli:local"]);
    }
}
