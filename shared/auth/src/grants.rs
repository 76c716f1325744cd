//! Configured grants: valid entries, and the grants they add.
//!
//! Not here: reading the file. Entries add to the grants from an actor's surface, except that a
//! schedule's entry replaces them.

use std::collections::BTreeMap;

use ars_types::{ActorClass, Grantees, Platform};

use crate::{Actor, EntryFault, Grants};

/// Checks an entry's actor. `cli:` has all grants and `agent:` those of its principal, so neither
/// can get more.
pub fn check_entry(actor: &str) -> Result<(), EntryFault> {
    let (platform, id) = Platform::split(actor).ok_or(EntryFault::Unknown)?;
    let grantees = platform.rules().grantees;
    if grantees == Grantees::None || id.is_empty() {
        return Err(EntryFault::Unknown);
    }
    match id {
        "*" if grantees == Grantees::ActorsAndPlatform => Ok(()),
        id if id.contains('*') => Err(EntryFault::Star),
        _ => Ok(()),
    }
}

/// Returns the actor with the grants configured for it and for the platform.
#[must_use]
pub fn granted(actor: &Actor, entries: &BTreeMap<String, Grants>) -> Actor {
    // An id that could be confused with a platform's entry, or that cannot have an entry, gets no grants.
    if check_entry(&actor.id).is_err() || actor.id.ends_with('*') {
        return actor.clone();
    }
    let own = entries.get(&actor.id);
    if actor.class() == Some(ActorClass::Schedule) {
        let grants = own.unwrap_or(&actor.grants).clone();
        return Actor {
            grants,
            ..actor.clone()
        };
    }
    let platform = Platform::split(&actor.id).map(|(platform, _)| platform);
    // `access:*` is for people, not for machines behind the access proxy.
    let is_machine_of_access =
        platform == Some(Platform::Access) && actor.class() == Some(ActorClass::Service);
    let whole = platform
        .filter(|_| !is_machine_of_access)
        .and_then(|name| entries.get(&name.id('*')));
    own.into_iter()
        .chain(whole)
        .fold(actor.clone(), |actor, extra| actor.with(extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    fn actions(names: &[&str]) -> Grants {
        Grants {
            actions: Set::only(names),
            ..Grants::default()
        }
    }

    fn entries(of: &[(&str, &str)]) -> BTreeMap<String, Grants> {
        of.iter()
            .map(|(actor, action)| ((*actor).to_owned(), actions(&[action])))
            .collect()
    }

    fn actor(id: &str) -> Actor {
        Actor::new(id, actions(&["own"]))
    }

    #[test]
    fn entry_names_an_actor_or_a_namespace() {
        for actor in [
            "slack:U1",
            "http:ann",
            "access:svc:ci",
            "schedule:nightly",
            "slack:*",
            "access:*",
        ] {
            assert_eq!(check_entry(actor), Ok(()), "{actor}");
        }
        for actor in [
            "",
            "slack",
            "slack:",
            ":U1",
            "cli:local",
            "agent:coding",
            "cli:*",
            "*",
            "*:*",
        ] {
            assert_eq!(check_entry(actor), Err(EntryFault::Unknown), "{actor}");
        }
        for actor in [
            "schedule:*",
            "slack:U*",
            "http:*a",
            "access:svc:*",
            "slack:**",
        ] {
            assert_eq!(check_entry(actor), Err(EntryFault::Star), "{actor}");
        }
    }

    #[test]
    fn faults_name_the_platforms_with_entries() {
        for platform in Platform::ALL {
            let grantees = platform.rules().grantees;
            let names_actors = EntryFault::Unknown.to_string().contains(platform.as_str());
            let names_star = EntryFault::Star.to_string().contains(&platform.id('`'));
            assert_eq!(names_actors, grantees != Grantees::None, "{platform}");
            assert_eq!(
                names_star,
                grantees == Grantees::ActorsAndPlatform,
                "{platform}"
            );
        }
    }

    #[test]
    fn actor_gets_its_own_and_namespace_grants() {
        let entries = entries(&[
            ("http:*", "all of http"),
            ("http:ann", "ann's"),
            ("mcp:*", "all of mcp"),
        ]);
        assert_eq!(
            granted(&actor("http:ann"), &entries).grants,
            actions(&["own", "all of http", "ann's"])
        );
        assert_eq!(
            granted(&actor("http:bob"), &entries).grants,
            actions(&["own", "all of http"])
        );
        assert_eq!(
            granted(&actor("slack:ann"), &entries).grants,
            actions(&["own"])
        );
    }

    #[test]
    fn access_star_excludes_machines() {
        let entries = entries(&[("access:*", "people"), ("access:svc:ci", "ci's")]);
        assert_eq!(
            granted(&actor("access:ann"), &entries).grants,
            actions(&["own", "people"])
        );
        assert_eq!(
            granted(&actor("access:svc:ci"), &entries).grants,
            actions(&["own", "ci's"])
        );
        assert_eq!(
            granted(&actor("access:svc:cd"), &entries).grants,
            actions(&["own"])
        );
    }

    #[test]
    fn schedule_entry_replaces_declared_grants() {
        let entries = entries(&[
            ("schedule:nightly", "configured"),
            ("schedule:*", "nothing"),
        ]);
        assert_eq!(
            granted(&actor("schedule:nightly"), &entries).grants,
            actions(&["configured"])
        );
        assert_eq!(
            granted(&actor("schedule:weekly"), &entries).grants,
            actions(&["own"])
        );
    }

    #[test]
    fn star_and_unconfigurable_ids_get_no_namespace_grants() {
        let entries = entries(&[
            ("http:*", "x"),
            ("cli:local", "x"),
            ("agent:coding", "x"),
            ("cli:*", "x"),
        ]);
        for id in ["http:*", "cli:local", "agent:coding", "nobody"] {
            assert_eq!(granted(&actor(id), &entries), actor(id), "{id}");
        }
    }
}
