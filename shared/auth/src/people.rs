//! The people with accounts on several surfaces.
//!
//! A person's accounts share what is the person's own: runs, memory, settings and limits. Grants
//! stay with each account. Not here: reading the configuration file.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ars_types::{ActorClass, Platform};

use crate::{Actor, Grants, PersonFault, person::Person};

/// Maximum number of accounts that an entry lists. Each is another memory scope that a run reads.
const MAX_ACCOUNTS: usize = 8;

/// The known people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    by_account: BTreeMap<String, Arc<Person>>,
}

impl People {
    /// Adds a person with these accounts, the main account first.
    ///
    /// # Errors
    ///
    /// There are too few or too many accounts, or one of them is not a person's or listed already.
    /// No account is added then.
    pub fn add<T: AsRef<str>>(&mut self, accounts: &[T]) -> Result<(), PersonFault> {
        if !(2..=MAX_ACCOUNTS).contains(&accounts.len()) {
            return Err(PersonFault::Count { max: MAX_ACCOUNTS });
        }
        let mut new = BTreeSet::new();
        for (index, account) in accounts.iter().map(AsRef::as_ref).enumerate() {
            if !is_persons(account) {
                return Err(PersonFault::Account(index));
            }
            if !new.insert(account) || self.by_account.contains_key(account) {
                return Err(PersonFault::Repeated(index));
            }
        }
        let accounts = accounts.iter().map(AsRef::as_ref).flat_map(with_aliases);
        let person = Arc::new(Person::new(accounts.collect()));
        for account in person.accounts() {
            self.by_account.insert(account.clone(), Arc::clone(&person));
        }
        Ok(())
    }

    /// Returns the actor as the person it belongs to.
    #[must_use]
    pub fn identify(&self, actor: Actor) -> Actor {
        let person = self.by_account.get(&actor.id);
        let person = person.or(actor.person.as_ref()).cloned();
        Actor { person, ..actor }
    }

    /// Returns the account under which an account's things are stored: the person's main account, or
    /// the account itself.
    pub fn main_account<'a>(&'a self, account: &'a str) -> &'a str {
        let person = self.by_account.get(account);
        person.map_or(account, |person| person.main_account())
    }
}

/// Returns whether an account can be listed. Schedules, agents and machines belong to no person, and
/// an account that counts as another is listed as that one.
fn is_persons(account: &str) -> bool {
    let Some((platform, id)) = Platform::split(account) else {
        return false;
    };
    let class = Actor::new(account, Grants::default()).class();
    let is_persons = class == Some(ActorClass::User) || platform == Platform::Http;
    !id.is_empty() && !id.contains('*') && is_persons
}

/// Returns an account and those that count as it: a token's subject has one over HTTP and MCP.
fn with_aliases(account: &str) -> Vec<String> {
    let mut accounts = vec![account.to_owned()];
    if let Some((platform, id)) = Platform::split(account) {
        let counts_as_it = |other: &&Platform| other.rules().counts_as == Some(platform);
        let aliases = Platform::ALL.iter().filter(counts_as_it);
        accounts.extend(aliases.map(|alias| alias.id(id)));
    }
    accounts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(accounts: &[&str]) -> Result<People, PersonFault> {
        let mut people = People::default();
        people.add(accounts).map(|()| people)
    }

    #[test]
    fn accounts_are_a_persons() {
        assert!(people(&["slack:U1", "access:ann", "http:ann", "cli:local"]).is_ok());
        for other in [
            "",
            "ann",
            "slack:",
            "slack:*",
            "http:a*",
            "mcp:ann",
            "access:svc:ci",
            "schedule:nightly",
            "agent:coding",
            "github:ann",
        ] {
            let refused = people(&["slack:U1", other]);
            assert_eq!(refused, Err(PersonFault::Account(1)), "{other}");
        }
    }

    #[test]
    fn person_has_two_to_eight_accounts() {
        let many: Vec<_> = (0..=MAX_ACCOUNTS)
            .map(|one| format!("slack:U{one}"))
            .collect();
        for count in [0, 1, MAX_ACCOUNTS + 1] {
            let refused = People::default().add(&many[..count]);
            assert_eq!(refused, Err(PersonFault::Count { max: MAX_ACCOUNTS }));
        }
        for count in [2, MAX_ACCOUNTS] {
            assert_eq!(People::default().add(&many[..count]), Ok(()));
        }
    }

    /// A rejected person leaves none of the accounts behind.
    #[test]
    fn account_belongs_to_one_person() {
        let mut people = people(&["slack:U1", "http:ann"]).unwrap();
        let before = people.clone();
        for (accounts, index) in [
            (["http:bob", "http:ann"], 1),
            (["slack:U1", "http:bob"], 0),
            (["http:bob", "http:bob"], 1),
        ] {
            assert_eq!(people.add(&accounts), Err(PersonFault::Repeated(index)));
            assert_eq!(people, before);
        }
    }

    #[test]
    fn person_is_every_account_and_nobody_else() {
        let people = people(&["slack:U1", "http:ann"]).unwrap();
        let known = |id: &str| people.identify(Actor::new(id, Grants::default()));
        // The holder of a token is one subject over HTTP and MCP.
        for own in ["slack:U1", "http:ann", "mcp:ann"] {
            for also in ["slack:U1", "http:ann", "mcp:ann"] {
                assert!(known(own).is(also), "{own} {also}");
            }
            assert!(!known(own).is("http:bob") && !known("http:bob").is(own));
            assert_eq!(known(own).main_account(), "slack:U1");
            assert_eq!(people.main_account(own), "slack:U1");
        }
        assert_eq!(known("mcp:bob").main_account(), "mcp:bob");
        assert_eq!(people.main_account("mcp:bob"), "mcp:bob");
        assert!(!known("mcp:bob").is("http:bob"), "no entry, no person");
    }
}
