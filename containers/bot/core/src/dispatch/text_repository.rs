//! The repository that the prose of a request names (docs/reference/code-host.md#resolution).
//!
//! No call of the code host is made here, and the repository's gate follows (`repositories`). A choice of the request,
//! such as `repo:<name>`, precedes its prose.

use ars_auth::Actor;
use ars_bot_ports::{Refusal, Repository};
use ars_codehost::{
    Host, parse_slug,
    resolve::{Listing, Resolution, Strength, resolve, signals},
};
use ars_types::RepoSlug;

use super::repositories::find;
use crate::settings::Settings;

/// Returns the name or address of the repository that the text names, or `None` for the thread's own.
/// `thread` is the repository of the tree, or the one that earlier messages chose.
pub(super) fn repository_in_text(
    text: &str,
    thread: Option<&Repository>,
    host: &Host,
    actor: &Actor,
    settings: &Settings,
) -> Result<Option<String>, Refusal> {
    let own = thread.and_then(|thread| slug_of(thread, host));
    let mut signals = signals(text, host);
    // A repository elsewhere has no slug, and a weak signal does not replace it either.
    signals.retain(|signal| thread.is_none() || signal.strength != Strength::Weak);
    let listing = |slug: &RepoSlug| match configured(slug, host, settings) {
        Some(_) => Listing::Known,
        None => Listing::Unknown,
    };
    let repository = match resolve(&signals, own.as_ref(), listing) {
        Resolution::None | Resolution::Thread { .. } => return Ok(None),
        Resolution::Named { repository, .. } | Resolution::Undetermined { repository } => repository,
        Resolution::Ambiguous { repositories } => {
            let known = repositories.iter().map(ToString::to_string).collect();
            return Err(Refusal::Repository { is_named: false, known });
        }
    };
    if own.as_ref() == Some(&repository) {
        return Ok(None);
    }
    if let Some(known) = configured(&repository, host, settings) {
        return Ok(Some(known.name.clone()));
    }
    let address = host.repository_url(&repository);
    if find(&address, actor, settings).is_some() {
        return Ok(Some(address));
    }
    let known = settings.repositories.iter().map(|repository| repository.name.clone()).collect();
    Err(Refusal::Repository { is_named: true, known })
}

fn configured<'a>(slug: &RepoSlug, host: &Host, settings: &'a Settings) -> Option<&'a Repository> {
    settings.repositories.iter().find(|repository| slug_of(repository, host).as_ref() == Some(slug))
}

/// Returns the slug of a repository: its name, or its place on the host.
fn slug_of(repository: &Repository, host: &Host) -> Option<RepoSlug> {
    let at_host = || {
        let found = signals(&repository.origin, host).into_iter();
        found.filter(|signal| signal.strength == Strength::Strong).map(|signal| signal.repository).next()
    };
    parse_slug(&repository.name).or_else(at_host)
}

#[cfg(test)]
mod tests {
    use ars_auth::Grants;

    use super::*;

    fn repository(name: &str, origin: &str) -> Repository {
        Repository { name: name.into(), origin: origin.into() }
    }

    /// Resolves a text. Known are `acme/app` by its name, `acme/site` by its origin, and `acme-open/*`.
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
        match repository_in_text(text, thread, &Host::default(), &actor, &settings) {
            Ok(name) => name.unwrap_or_else(|| "own".into()),
            Err(Refusal::Repository { is_named: true, .. }) => "unknown".into(),
            Err(Refusal::Repository { is_named: false, known }) => known.join(" or "),
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
        let (app, local) = (repository("acme/app", "/srv/app"), repository("tool", "/srv/tool"));
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
}
