//! Memory scopes and their store keys.
//!
//! Not here: permissions on scopes.

use ars_types::StoreKey;

use crate::ScopeError;

/// A record's audience, in the order in which several apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everybody in the organization.
    Org,
    /// Everybody who uses a repository.
    Repo,
    /// Everybody in a channel.
    Channel,
    /// A single user only.
    User,
}

impl Scope {
    /// All scopes in order.
    pub const ALL: [Self; 4] = [Self::Org, Self::Repo, Self::Channel, Self::User];

    /// Returns the prefix of the scope's keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::Repo => "repo",
            Self::Channel => "channel",
            Self::User => "user",
        }
    }

    /// Returns the scope with that prefix.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// Returns the scope that a key belongs to.
    pub fn from_key(key: &str) -> Option<Self> {
        let (word, input) = key.split_once(':')?;
        Self::named(word).filter(|_| !input.is_empty())
    }
}

/// Request values that determine the scopes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes<'a> {
    /// Name of the organization.
    pub organization: Option<&'a str>,
    /// Repository as `owner/name`.
    pub repository: Option<&'a str>,
    /// Id of the channel.
    pub channel: Option<&'a str>,
    /// Id of the user.
    pub user: Option<&'a str>,
}

impl<'a> Scopes<'a> {
    /// Returns the inputs with a user only.
    pub fn for_user(user: &'a str) -> Self {
        Self {
            user: Some(user),
            ..Self::default()
        }
    }

    /// Returns a scope's key, or an error if the value is missing or invalid.
    pub fn key(&self, scope: Scope) -> Result<StoreKey, ScopeError> {
        let input = self
            .input(scope)
            .filter(|input| !input.is_empty())
            .ok_or(ScopeError::Missing(scope))?;
        StoreKey::parse(format!("{}:{input}", scope.as_str()))
            .map_err(|_| ScopeError::Invalid(scope))
    }

    /// Returns the keys for all scopes that have a valid value, in order.
    pub fn keys(&self) -> Vec<StoreKey> {
        Scope::ALL
            .into_iter()
            .filter_map(|scope| self.key(scope).ok())
            .collect()
    }

    fn input(&self, scope: Scope) -> Option<&'a str> {
        match scope {
            Scope::Org => self.organization,
            Scope::Repo => self.repository,
            Scope::Channel => self.channel,
            Scope::User => self.user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Scopes<'_> = Scopes {
        organization: Some("acme"),
        repository: Some("acme/app"),
        channel: Some("C1"),
        user: Some("http:ana"),
    };

    #[test]
    fn keys_are_ordered_by_scope() {
        let keys = ALL.keys();
        let keys: Vec<_> = keys.iter().map(StoreKey::as_str).collect();
        assert_eq!(
            keys,
            ["org:acme", "repo:acme/app", "channel:C1", "user:http:ana"]
        );
        let words: Vec<_> = keys.iter().map(|key| Scope::from_key(key)).collect();
        assert_eq!(words, Scope::ALL.map(Some));
    }

    #[test]
    fn scope_without_value_has_no_key() {
        let some = Scopes {
            repository: None,
            channel: Some(""),
            ..ALL
        };
        assert_eq!(some.key(Scope::Repo), Err(ScopeError::Missing(Scope::Repo)));
        assert_eq!(
            some.key(Scope::Channel),
            Err(ScopeError::Missing(Scope::Channel))
        );
        assert_eq!(some.keys().len(), 2);
        assert!(Scopes::default().keys().is_empty());
    }

    #[test]
    fn invalid_value_is_rejected_without_echo() {
        for user in ["se cret", "secret\u{0}", &"secret".repeat(40)] {
            let refused = Scopes {
                user: Some(user),
                ..ALL
            }
            .key(Scope::User)
            .unwrap_err();
            assert_eq!(refused, ScopeError::Invalid(Scope::User));
            assert!(!refused.to_string().contains("cret"));
        }
    }

    #[test]
    fn other_keys_have_no_scope() {
        for key in ["", "org", "org:", "team:x", "Org:x", "runs:default"] {
            assert_eq!(Scope::from_key(key), None, "{key}");
        }
    }
}
