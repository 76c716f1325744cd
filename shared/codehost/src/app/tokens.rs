//! Caches installation tokens, one for each repository.

use std::collections::BTreeMap;

use ars_auth::Secret;
use ars_types::{RepoSlug, UnixMillis};

/// Minimum remaining life of a served installation token: the longest command (20 minutes), and
/// slack.
pub(super) const MIN_TOKEN_LIFE_MS: i64 = 1_500_000;
/// Maximum installation tokens in the cache.
const MAX_TOKENS: usize = 1_000;

/// A token for a single repository.
#[derive(Clone)]
pub struct InstallationToken {
    /// The token that requests carry.
    pub secret: Secret,
    /// When the token expires.
    pub expires_at: UnixMillis,
}

/// Tokens by repository. A caller that finds none mints it.
#[derive(Default)]
pub struct TokenCache(BTreeMap<RepoSlug, InstallationToken>);

impl TokenCache {
    /// Returns a repository's token, if it lives for more than another 25 minutes.
    pub fn get(&self, repository: &RepoSlug, now: UnixMillis) -> Option<&InstallationToken> {
        let token = self.0.get(repository)?;
        has_life(token.expires_at, now).then_some(token)
    }

    /// Stores a minted token. Beyond the limit the token that ends first is evicted.
    pub fn put(&mut self, repository: RepoSlug, token: InstallationToken) {
        self.0.insert(repository, token);
        if self.0.len() > MAX_TOKENS
            && let Some((first, _)) = self.0.iter().min_by_key(|(_, token)| token.expires_at)
        {
            let first = first.clone();
            self.0.remove(&first);
        }
    }

    /// Drops the token that the host answered with 401, so that the next caller mints another. A
    /// newer token from another caller stays.
    pub fn reject(&mut self, repository: &RepoSlug, rejected: &Secret) {
        if self
            .0
            .get(repository)
            .is_some_and(|token| token.secret.matches(rejected.expose().as_bytes()))
        {
            self.0.remove(repository);
        }
    }
}

/// Returns whether a token that ends then may still be handed out.
fn has_life(expires_at: UnixMillis, now: UnixMillis) -> bool {
    expires_at.saturating_sub(now) > MIN_TOKEN_LIFE_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(text: &str) -> RepoSlug {
        RepoSlug::parse(text).unwrap()
    }

    fn token(text: &str, expires_at: UnixMillis) -> InstallationToken {
        InstallationToken {
            secret: Secret::parse(Some(text.to_owned())).unwrap(),
            expires_at,
        }
    }

    fn cached(cache: &TokenCache, name: &str, now: UnixMillis) -> Option<String> {
        cache
            .get(&slug(name), now)
            .map(|token| token.secret.expose().to_owned())
    }

    #[test]
    fn token_is_served_with_more_than_25_minutes_left() {
        let mut cache = TokenCache::default();
        cache.put(slug("acme/app"), token("t", 3_600_000));
        for (now, expected) in [
            (0, Some("t")),
            (2_099_999, Some("t")),
            (2_100_000, None),
            (i64::MAX, None),
        ] {
            assert_eq!(
                cached(&cache, "acme/app", now).as_deref(),
                expected,
                "{now}"
            );
        }
        assert_eq!(cached(&cache, "acme/site", 0), None);
    }

    #[test]
    fn rejected_token_is_minted_again() {
        let mut cache = TokenCache::default();
        cache.put(slug("acme/app"), token("new", 3_600_000));
        cache.reject(&slug("acme/app"), &token("old", 0).secret);
        assert_eq!(cached(&cache, "acme/app", 0).as_deref(), Some("new"));
        cache.reject(&slug("acme/app"), &token("new", 0).secret);
        assert_eq!(cached(&cache, "acme/app", 0), None);
    }

    #[test]
    fn full_cache_evicts_the_token_that_ends_first() {
        let mut cache = TokenCache::default();
        let names: Vec<_> = (0..=MAX_TOKENS)
            .map(|index| format!("acme/r{index}"))
            .collect();
        for (index, name) in names.iter().enumerate() {
            let expires_at = if index == 500 { 1_600_000 } else { 3_600_000 };
            cache.put(slug(name), token("t", expires_at));
        }
        assert_eq!(
            (
                cached(&cache, &names[500], 0),
                cached(&cache, &names[0], 0).as_deref()
            ),
            (None, Some("t"))
        );
    }
}
