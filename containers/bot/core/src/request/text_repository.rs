//! Finds the repository that a request's prose names (docs/reference/code-host.md#resolution).
//!
//! Makes no code host calls, and the repository's gate follows (`gates`). A choice such as
//! `repo:<name>` precedes the prose. Not here: the lookup among the residents (`context::onboarded`).

use std::collections::BTreeMap;

use ars_auth::Actor;
use ars_bot_ports::{Refusal, Repository};
use ars_codehost::{
    Host, parse_slug,
    resolve::{Listing, Resolution, Signal, Strength, resolve, signals},
};
use ars_types::RepoSlug;

use crate::{
    context::settings::Settings,
    gates::{find, is_allowed, resolve_repository},
};

/// Maximum repositories per text that are looked up among the residents.
const MAX_LOOKUPS: usize = 8;

/// A request's text, and the facts that decide the repository.
#[derive(Clone, Copy)]
pub(super) struct RequestText<'a> {
    /// The request's text.
    pub(super) text: &'a str,
    /// The tree's repository, or the repository that earlier messages chose.
    pub(super) thread: Option<&'a Repository>,
    pub(super) host: &'a Host,
    pub(super) actor: &'a Actor,
    pub(super) settings: &'a Settings,
}

impl RequestText<'_> {
    /// Returns the repositories that count only if they are onboarded, in order.
    /// They are not configured, and the requester may use them.
    pub(super) fn unlisted(&self) -> Vec<RepoSlug> {
        let signals = self.signals();
        let has_strong = signals
            .iter()
            .any(|signal| signal.strength == Strength::Strong);
        let own = self.own();
        let mut unlisted: Vec<RepoSlug> = Vec::new();
        for Signal {
            repository,
            strength,
            ..
        } in signals
        {
            let may_count = match strength {
                Strength::Strong => false,
                Strength::Vettable => true,
                // A strong name is chosen first.
                Strength::Weak => !has_strong,
            };
            let is_new = own.as_ref() != Some(&repository) && !unlisted.contains(&repository);
            if may_count
                && is_new
                && self.configured(&repository).is_none()
                && self.may_use(&repository)
            {
                unlisted.push(repository);
            }
        }
        unlisted.truncate(MAX_LOOKUPS);
        unlisted
    }

    /// Returns the name or address of the repository that the text names, or `None` for the thread's own.
    pub(super) fn repository(
        &self,
        listings: &BTreeMap<RepoSlug, Listing>,
    ) -> Result<Option<String>, Refusal> {
        let Self {
            host,
            actor,
            settings,
            ..
        } = *self;
        let own = self.own();
        let listing = |slug: &RepoSlug| match self.configured(slug) {
            Some(_) => Listing::Known,
            None => self.listing(slug, listings),
        };
        let repository = match resolve(&self.signals(), own.as_ref(), listing) {
            Resolution::None | Resolution::Thread { .. } => return Ok(None),
            Resolution::Named { repository, .. } => repository,
            Resolution::Undetermined { repository } => {
                return Err(Refusal::RepositoryUndetermined {
                    repository: repository.to_string(),
                });
            }
            Resolution::Ambiguous { repositories } => {
                let known = repositories.iter().map(ToString::to_string).collect();
                return Err(Refusal::Repository {
                    is_named: false,
                    known,
                });
            }
        };
        if own.as_ref() == Some(&repository) {
            return Ok(None);
        }
        if let Some(known) = self.configured(&repository) {
            return Ok(Some(known.name.clone()));
        }
        let address = host.repository_url(&repository);
        if find(&address, actor, settings).is_some() {
            return Ok(Some(address));
        }
        let known = settings
            .repositories
            .iter()
            .map(|repository| repository.name.clone())
            .collect();
        Err(Refusal::Repository {
            is_named: true,
            known,
        })
    }

    fn signals(&self) -> Vec<Signal> {
        let mut signals = signals(self.text, self.host);
        // A repository elsewhere has no slug, and a weak signal does not replace it either.
        signals.retain(|signal| self.thread.is_none() || signal.strength != Strength::Weak);
        signals
    }

    fn own(&self) -> Option<RepoSlug> {
        self.thread.and_then(|thread| slug_of(thread, self.host))
    }

    fn configured(&self, slug: &RepoSlug) -> Option<&Repository> {
        let is_it =
            |repository: &&Repository| slug_of(repository, self.host).as_ref() == Some(slug);
        self.settings.repositories.iter().find(is_it)
    }

    /// Returns whether the requester may name the repository's address, and passes the gate.
    fn may_use(&self, slug: &RepoSlug) -> bool {
        let address = self.host.repository_url(slug);
        resolve_repository(Some(&address), self.actor, self.settings, None).is_ok()
    }

    /// Returns the listing for a repository that is not configured.
    fn listing(&self, slug: &RepoSlug, listings: &BTreeMap<RepoSlug, Listing>) -> Listing {
        match listings.get(slug).copied().unwrap_or(Listing::Unknown) {
            // The machine's own user may name any address, so a path in the text would prevent
            // every run during an outage.
            Listing::Unavailable if !is_allowed(&self.host.repository_url(slug), self.settings) => {
                Listing::Unknown
            }
            listing => listing,
        }
    }
}

/// Returns a repository's slug: its name, or its place on the host.
fn slug_of(repository: &Repository, host: &Host) -> Option<RepoSlug> {
    let at_host = || {
        let found = signals(&repository.origin, host).into_iter();
        found
            .filter(|signal| signal.strength == Strength::Strong)
            .map(|signal| signal.repository)
            .next()
    };
    parse_slug(&repository.name).or_else(at_host)
}

#[cfg(test)]
mod tests {
    use ars_auth::Grants;

    use super::*;

    fn repository(name: &str, origin: &str) -> Repository {
        Repository {
            name: name.into(),
            origin: origin.into(),
        }
    }

    /// Resolves a text. Known are `acme/app` by name, `acme/site` by origin, and `acme-open/*`.
    fn named(text: &str, thread: Option<&Repository>) -> String {
        let settings = Settings {
            repositories: vec![
                repository("acme/app", "/srv/app"),
                repository("site", "https://github.com/Acme/Site.git"),
            ],
            allowed_origins: vec!["https://github.com/acme-open/".into()],
            ..Settings::default()
        };
        let actor = Actor::new("http:ann", Grants::default());
        let host = Host::default();
        let text = RequestText {
            text,
            thread,
            host: &host,
            actor: &actor,
            settings: &settings,
        };
        match text.repository(&BTreeMap::new()) {
            Ok(name) => name.unwrap_or_else(|| "own".into()),
            Err(Refusal::Repository { is_named: true, .. }) => "unknown".into(),
            Err(Refusal::Repository {
                is_named: false,
                known,
            }) => known.join(" or "),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn prose_names_a_repository_of_a_new_thread() {
        for (text, expected) in [
            ("fix the tests in acme/app", "acme/app"),
            ("fix acme/app", "acme/app"),
            ("review https://github.com/acme/site/pull/3", "site"),
            ("fix acme/site#3", "site"),
            ("fix acme-open/tool#1", "https://github.com/acme-open/tool"),
            ("fix acme/other#1", "unknown"),
            ("fix src/main and/or acme/other", "own"),
            ("fix `acme/app#1`", "own"),
            ("acme/app#1 and acme/site#2", "acme/app or acme/site"),
        ] {
            assert_eq!(named(text, None), expected, "{text}");
        }
    }

    #[test]
    fn weak_signals_never_rebind_a_thread() {
        let (app, local) = (
            repository("acme/app", "/srv/app"),
            repository("tool", "/srv/tool"),
        );
        for (text, thread, expected) in [
            ("as acme/site does", &app, "own"),
            ("as acme/site does", &local, "own"),
            ("now in acme/site", &app, "site"),
            ("now acme/app#2", &app, "own"),
            ("now acme/app#2", &local, "acme/app"),
            ("as acme/other#2", &app, "unknown"),
        ] {
            assert_eq!(named(text, Some(thread)), expected, "{text}");
        }
    }

    #[test]
    fn unavailable_list_matters_below_allowed_origins() {
        let settings = Settings {
            allowed_origins: vec!["https://github.com/acme/".into()],
            ..Settings::default()
        };
        let host = Host::default();
        let named = |text, id: &str| {
            let actor = Actor::new(id, Grants::default());
            let text = RequestText {
                text,
                thread: None,
                host: &host,
                actor: &actor,
                settings: &settings,
            };
            let unlisted = text.unlisted();
            let listings = unlisted
                .iter()
                .map(|slug| (slug.clone(), Listing::Unavailable))
                .collect();
            let is_open = match text.repository(&listings) {
                Ok(named) => {
                    assert_eq!(named, None);
                    false
                }
                Err(Refusal::RepositoryUndetermined { .. }) => true,
                Err(other) => panic!("{other:?}"),
            };
            (unlisted.len(), is_open)
        };
        for (text, id, expected) in [
            ("fix it in acme/tool", "http:ann", (1, true)),
            ("fix acme/tool", "http:ann", (1, false)),
            ("fix it in src/main", "http:ann", (0, false)),
            ("fix it in src/main", "cli:local", (1, false)),
            ("fix it in acme/tool", "cli:local", (1, true)),
            (
                "in acme/a in acme/b in acme/c in acme/a",
                "http:ann",
                (3, true),
            ),
        ] {
            assert_eq!(named(text, id), expected, "{id}: {text}");
        }
    }
}
