//! The scopes a run uses and its user may read (docs/reference/configuration.md#policy).
//!
//! A user that may read a user's, channel's or repository's memory may also write it. For the
//! organization's memory the channel's visibility decides at the write (`ars_memory::reflection`).

use ars_auth::{
    Actor,
    policy::{Resource, decide},
};
use ars_memory::{Scope, Scopes};
use ars_types::{StoreKey, Visibility};
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
    /// The person's other accounts, whose memory is read, but not added to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_accounts: Vec<String>,
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
        let main = actor.main_account();
        let other_accounts = actor.other_accounts();
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
            user: if_permitted(main, Resource::UserScope(main)),
            other_accounts: other_accounts
                .filter_map(|account| if_permitted(account, Resource::UserScope(account)))
                .collect(),
        }
    }

    /// Returns the keys of all scopes that the run reads, in order.
    pub fn readable(&self) -> Vec<StoreKey> {
        let others = self.other_accounts.iter();
        let others = others.filter_map(|account| Scopes::for_user(account).key(Scope::User).ok());
        self.view().keys().into_iter().chain(others).collect()
    }

    /// Returns the scopes with this user's own, if the run may use it. The people may be others than
    /// at the run's start.
    #[must_use]
    pub fn written_as(&self, user: &str) -> Self {
        Self {
            user: self.user.as_ref().map(|_| user.to_owned()),
            ..self.clone()
        }
    }

    /// Borrows the inputs for the scopes that the run may add to.
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
    use ars_auth::{Grants, Set, people::People};

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
    fn person_reads_every_account_and_writes_one() {
        let mut people = People::default();
        people.add(&["slack:ann", "access:ann"]).unwrap();
        for account in ["slack:ann", "access:ann"] {
            let actor = people.identify(Actor::new(account, Grants::default()));
            let place = Place {
                organization: None,
                repository: None,
                channel: "C1",
                visibility: Visibility::Dm,
            };
            let scopes = RunScopes::permitted(&place, &actor);
            let names = |keys: Vec<StoreKey>| keys.iter().map(ToString::to_string).collect();
            let (written, read): (Vec<_>, Vec<_>) =
                (names(scopes.view().keys()), names(scopes.readable()));
            assert_eq!(written, ["user:slack:ann"]);
            assert_eq!(read, ["user:slack:ann", "user:access:ann"]);
            // The entry was removed before the run was resumed.
            let alone = scopes.written_as(account);
            assert_eq!(alone.view().user, Some(account));
        }
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
