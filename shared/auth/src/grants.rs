//! Grants by configuration: whose they may be, and what they add (bot supplement section 7.3).
//!
//! Not here: reading the file. An entry only ever adds to what an actor's surface gives; a schedule's replaces it.

use std::collections::BTreeMap;

use crate::{Actor, Grants, Kind};

/// Whose ids may stand in the configuration.
const NAMESPACES: [&str; 5] = ["slack", "http", "mcp", "access", "schedule"];
/// Those of them that may be granted something as a whole.
const WHOLE_NAMESPACES: [&str; 4] = ["slack", "http", "mcp", "access"];

/// Whose entry it cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// It names nobody a surface could bring.
    #[error("an actor must be `<namespace>:<id>` with one of slack, http, mcp, access, schedule")]
    Unknown,
    /// A star says something else than "this whole namespace".
    #[error("a `*` may only stand alone, after `slack:`, `http:`, `mcp:` or `access:`")]
    Star,
}

/// Checks whose entry it is. `cli:` has everything and `agent:` what its principal has: neither can be granted more.
pub fn check_entry(actor: &str) -> Result<(), EntryFault> {
    let (namespace, id) = actor.split_once(':').ok_or(EntryFault::Unknown)?;
    if !NAMESPACES.contains(&namespace) || id.is_empty() {
        return Err(EntryFault::Unknown);
    }
    match id {
        "*" if WHOLE_NAMESPACES.contains(&namespace) => Ok(()),
        id if id.contains('*') => Err(EntryFault::Star),
        _ => Ok(()),
    }
}

/// The actor with what the configuration grants it, by its own entry and by that of its whole namespace.
#[must_use]
pub fn granted(actor: &Actor, entries: &BTreeMap<String, Grants>) -> Actor {
    // An id that would pass for the entry of a namespace, or that cannot have one, is left as it came.
    if check_entry(&actor.id).is_err() || actor.id.ends_with('*') {
        return actor.clone();
    }
    let own = entries.get(&actor.id);
    if actor.kind() == Some(Kind::Schedule) {
        let grants = own.unwrap_or(&actor.grants).clone();
        return Actor { grants, ..actor.clone() };
    }
    let namespace = actor.id.split_once(':').map(|(namespace, _)| namespace);
    // `access:*` is for people: it never reaches the machines behind the access proxy.
    let is_machine_of_access = namespace == Some("access") && actor.kind() == Some(Kind::Service);
    let whole =
        namespace.filter(|_| !is_machine_of_access).and_then(|name| entries.get(&format!("{name}:*")));
    own.into_iter().chain(whole).fold(actor.clone(), |actor, extra| actor.with(extra))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    fn actions(names: &[&str]) -> Grants {
        Grants { actions: Set::of(names), ..Grants::default() }
    }

    fn entries(of: &[(&str, &str)]) -> BTreeMap<String, Grants> {
        of.iter().map(|(actor, action)| ((*actor).to_owned(), actions(&[action]))).collect()
    }

    fn actor(id: &str) -> Actor {
        Actor::new(id, actions(&["own"]))
    }

    #[test]
    fn an_entry_names_somebody_or_a_whole_namespace_and_no_other_star_is_read() {
        for actor in ["slack:U1", "http:ann", "access:svc:ci", "schedule:nightly", "slack:*", "access:*"] {
            assert_eq!(check_entry(actor), Ok(()), "{actor}");
        }
        for actor in ["", "slack", "slack:", ":U1", "cli:local", "agent:coding", "cli:*", "*", "*:*"] {
            assert_eq!(check_entry(actor), Err(EntryFault::Unknown), "{actor}");
        }
        for actor in ["schedule:*", "slack:U*", "http:*a", "access:svc:*", "slack:**"] {
            assert_eq!(check_entry(actor), Err(EntryFault::Star), "{actor}");
        }
    }

    #[test]
    fn an_actor_gets_its_own_entry_and_that_of_its_namespace() {
        let entries = entries(&[("http:*", "all of http"), ("http:ann", "ann's"), ("mcp:*", "all of mcp")]);
        assert_eq!(granted(&actor("http:ann"), &entries).grants, actions(&["own", "all of http", "ann's"]));
        assert_eq!(granted(&actor("http:bob"), &entries).grants, actions(&["own", "all of http"]));
        assert_eq!(granted(&actor("slack:ann"), &entries).grants, actions(&["own"]));
    }

    #[test]
    fn what_is_granted_to_everybody_behind_the_access_proxy_never_reaches_its_machines() {
        let entries = entries(&[("access:*", "people"), ("access:svc:ci", "ci's")]);
        assert_eq!(granted(&actor("access:ann"), &entries).grants, actions(&["own", "people"]));
        assert_eq!(granted(&actor("access:svc:ci"), &entries).grants, actions(&["own", "ci's"]));
        assert_eq!(granted(&actor("access:svc:cd"), &entries).grants, actions(&["own"]));
    }

    #[test]
    fn a_schedules_entry_takes_the_place_of_what_it_was_declared_with() {
        let entries = entries(&[("schedule:nightly", "configured"), ("schedule:*", "nothing")]);
        assert_eq!(granted(&actor("schedule:nightly"), &entries).grants, actions(&["configured"]));
        assert_eq!(granted(&actor("schedule:weekly"), &entries).grants, actions(&["own"]));
    }

    #[test]
    fn nobody_comes_by_a_namespaces_grants_by_being_called_a_star_or_by_not_being_configurable() {
        let entries = entries(&[("http:*", "x"), ("cli:local", "x"), ("agent:coding", "x"), ("cli:*", "x")]);
        for id in ["http:*", "cli:local", "agent:coding", "nobody"] {
            assert_eq!(granted(&actor(id), &entries), actor(id), "{id}");
        }
    }
}
