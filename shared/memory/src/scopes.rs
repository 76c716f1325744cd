//! Scopes: for whom something is remembered, and the keys of their stores (document 2 section 2.2).
//!
//! Not here: who may read or write a scope (the bot's).

use ars_types::StoreKey;

/// For whom something is remembered. In the order that scopes are used in when several apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everybody.
    Org,
    /// Who works in a repository.
    Repo,
    /// Who speaks in a channel.
    Channel,
    /// One person.
    User,
}

impl Scope {
    /// Every scope, in order.
    pub const ALL: [Self; 4] = [Self::Org, Self::Repo, Self::Channel, Self::User];

    /// The word that its keys begin with.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::Repo => "repo",
            Self::Channel => "channel",
            Self::User => "user",
        }
    }

    /// The scope of that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// The scope of a key.
    pub fn of(key: &str) -> Option<Self> {
        let (word, input) = key.split_once(':')?;
        Self::named(word).filter(|_| !input.is_empty())
    }
}

/// Why there is no key. Never carries the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// The request has none of it: no repository, say.
    #[error("there is no {} to remember for", .0.as_str())]
    Missing(Scope),
    /// It cannot be part of a key.
    #[error("the name of this {} cannot be part of a key", .0.as_str())]
    Invalid(Scope),
}

/// What a request is about, as far as it decides for whom something is remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes<'a> {
    /// The organization.
    pub organization: Option<&'a str>,
    /// The repository, `owner/name`.
    pub repository: Option<&'a str>,
    /// The channel's id.
    pub channel: Option<&'a str>,
    /// The user's id.
    pub user: Option<&'a str>,
}

impl<'a> Scopes<'a> {
    /// The key of a scope; refused without its input.
    pub fn key(&self, scope: Scope) -> Result<StoreKey, ScopeError> {
        let input = self.input(scope).filter(|input| !input.is_empty()).ok_or(ScopeError::Missing(scope))?;
        StoreKey::parse(format!("{}:{input}", scope.as_str())).map_err(|_| ScopeError::Invalid(scope))
    }

    /// The keys of every scope whose input is there, in order.
    pub fn keys(&self) -> Vec<StoreKey> {
        Scope::ALL.into_iter().filter_map(|scope| self.key(scope).ok()).collect()
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
    fn keys_come_in_the_order_org_repo_channel_user() {
        let keys = ALL.keys();
        let keys: Vec<_> = keys.iter().map(StoreKey::as_str).collect();
        assert_eq!(keys, ["org:acme", "repo:acme/app", "channel:C1", "user:http:ana"]);
        let words: Vec<_> = keys.iter().map(|key| Scope::of(key)).collect();
        assert_eq!(words, Scope::ALL.map(Some));
    }

    #[test]
    fn a_scope_without_its_input_is_refused_and_left_out() {
        let some = Scopes { repository: None, channel: Some(""), ..ALL };
        assert_eq!(some.key(Scope::Repo), Err(ScopeError::Missing(Scope::Repo)));
        assert_eq!(some.key(Scope::Channel), Err(ScopeError::Missing(Scope::Channel)));
        assert_eq!(some.keys().len(), 2);
        assert!(Scopes::default().keys().is_empty());
    }

    #[test]
    fn an_input_that_no_key_can_hold_is_refused_without_being_told() {
        for user in ["se cret", "secret\u{0}", &"secret".repeat(40)] {
            let refused = Scopes { user: Some(user), ..ALL }.key(Scope::User).unwrap_err();
            assert_eq!(refused, ScopeError::Invalid(Scope::User));
            assert!(!refused.to_string().contains("cret"));
        }
    }

    #[test]
    fn other_keys_have_no_scope() {
        for key in ["", "org", "org:", "team:x", "Org:x", "runs:default"] {
            assert_eq!(Scope::of(key), None, "{key}");
        }
    }
}
