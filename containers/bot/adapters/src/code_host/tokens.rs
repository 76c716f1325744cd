//! Tokens for calls: signed by the app, minted for a single repository, or the plain token.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use ars_auth::Secret;
use ars_codehost::app::{InstallationToken, TokenCache};
use ars_types::{RepoSlug, UnixMillis};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Access, TokenScope};

/// Cached tokens by scope and repository.
#[derive(Default)]
pub(super) struct Tokens {
    repositories: Mutex<BTreeMap<TokenScope, TokenCache>>,
    installation: Mutex<Option<InstallationToken>>,
}

/// Response to a mint request.
#[derive(Deserialize)]
pub(super) struct Minted {
    pub(super) token: String,
    pub(super) expires_at: String,
    #[serde(default)]
    pub(super) repositories: Vec<MintedFor>,
}

/// A repository that a minted token covers.
#[derive(Deserialize)]
pub(super) struct MintedFor {
    pub(super) full_name: String,
}

impl Tokens {
    /// Returns a cached token that lives long enough.
    pub(super) fn get(&self, access: &Access, now: UnixMillis) -> Option<InstallationToken> {
        match access {
            Access::Repository(slug, scope) => self.caches().get(scope)?.get(slug, now).cloned(),
            // Applies the same rule as for a repository, through a single-entry cache.
            Access::Installation => {
                let stored = self
                    .installation
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone()?;
                let mut cache = TokenCache::default();
                let slug = RepoSlug::parse("installation/all").ok()?;
                cache.put(slug.clone(), stored);
                cache.get(&slug, now).cloned()
            }
            Access::Anonymous | Access::App => None,
        }
    }

    /// Stores a minted token.
    pub(super) fn put(&self, access: &Access, token: InstallationToken) {
        match access {
            Access::Repository(slug, scope) => {
                self.caches()
                    .entry(*scope)
                    .or_default()
                    .put(slug.clone(), token);
            }
            Access::Installation => {
                *self
                    .installation
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = Some(token);
            }
            Access::Anonymous | Access::App => {}
        }
    }

    /// Drops a token that the host rejected.
    pub(super) fn reject(&self, access: &Access, rejected: &Secret) {
        match access {
            Access::Repository(slug, scope) => {
                self.caches()
                    .entry(*scope)
                    .or_default()
                    .reject(slug, rejected);
            }
            Access::Installation => {
                *self
                    .installation
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = None;
            }
            Access::Anonymous | Access::App => {}
        }
    }

    fn caches(&self) -> std::sync::MutexGuard<'_, BTreeMap<TokenScope, TokenCache>> {
        self.repositories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a mint request body: a single repository, and no more permissions than the scope needs.
pub(super) fn mint_body(access: &Access) -> Value {
    let Access::Repository(slug, scope) = access else {
        return json!({ "permissions": { "metadata": "read" } });
    };
    let name = slug.as_str().split('/').next_back().unwrap_or_default();
    let permissions = match scope {
        TokenScope::Read => json!({
            "metadata": "read", "contents": "read", "issues": "read", "pull_requests": "read", "checks": "read",
            "actions": "read",
        }),
        // A review pins a commit and a comparison reads it.
        TokenScope::Write => json!({
            "metadata": "read", "contents": "read", "issues": "write", "pull_requests": "write", "checks": "write",
        }),
        // The host gates this mutation by the contents, although it changes none.
        TokenScope::Resolve => {
            json!({ "metadata": "read", "contents": "write", "pull_requests": "write" })
        }
        TokenScope::GitRead => json!({ "metadata": "read", "contents": "read" }),
        TokenScope::GitWrite => json!({ "metadata": "read", "contents": "write" }),
    };
    json!({ "repositories": [name], "permissions": permissions })
}
