//! The repository that a request names, and the gate (docs/reference/workspace.md#origins).

use ars_auth::{Actor, can_use_repo};
use ars_bot_ports::{Refusal, Repository};
use ars_types::CLI_LOCAL;

use super::origin;
use crate::context::settings::Settings;

/// Returns a run's repository. `None` means the thread's own, which passes the gate again.
pub(crate) fn resolve_repository(
    named: Option<&str>,
    actor: &Actor,
    settings: &Settings,
    own: Option<&Repository>,
) -> Result<Option<Repository>, Refusal> {
    let repository = match (named, own) {
        (Some(named), _) => find(named, actor, settings),
        (None, Some(own)) => return authorize(actor, settings, own).map(|()| None),
        (None, None) => settings
            .default_repository
            .as_deref()
            .and_then(|name| configured(name, settings)),
    };
    let Some(repository) = repository else {
        let known = settings
            .repositories
            .iter()
            .map(|repository| repository.name.clone())
            .collect();
        return Err(Refusal::Repository {
            is_named: named.is_some(),
            known,
        });
    };
    authorize(actor, settings, &repository)?;
    Ok(Some(repository))
}

/// Returns the repository that a request names, if the actor may name it.
pub(crate) fn find(named: &str, actor: &Actor, settings: &Settings) -> Option<Repository> {
    configured(named, settings).or_else(|| direct(named, actor, settings))
}

/// Checks a repository's gate by name.
pub(crate) fn authorize_name(
    actor: &Actor,
    settings: &Settings,
    name: &str,
) -> Result<(), Refusal> {
    // A slug stands for every configured repository with that slug as origin, under any name.
    let is_place = |known: &&Repository| {
        origin::slug(&known.origin).is_some_and(|slug| slug.eq_ignore_ascii_case(name))
    };
    for known in settings.repositories.iter().filter(is_place) {
        check(actor, settings, &known.name)?;
    }
    let unknown = || Repository {
        name: name.to_owned(),
        origin: origin::of_name(name).to_owned(),
    };
    authorize(
        actor,
        settings,
        &configured(name, settings).unwrap_or_else(unknown),
    )
}

/// Checks the gate under every name for the repository's place, configured or read from the path.
/// Restricting a single name applies to all of them.
fn authorize(actor: &Actor, settings: &Settings, repository: &Repository) -> Result<(), Refusal> {
    let others = settings
        .repositories
        .iter()
        .filter(|other| origin::is_same(&other.origin, &repository.origin));
    others
        .chain([repository])
        .try_for_each(|one| check(actor, settings, &one.name))?;
    origin::slug(&repository.origin).map_or(Ok(()), |slug| check(actor, settings, &slug))
}

fn check(actor: &Actor, settings: &Settings, repository: &str) -> Result<(), Refusal> {
    can_use_repo(actor, &settings.restrictions, repository)
        .map_err(|_| Refusal::RepositoryForbidden)
}

/// Returns the configured repository at the same place, else the repository itself. A configured
/// origin may have credentials.
pub(crate) fn configured_place(repository: &Repository, settings: &Settings) -> Repository {
    let known = settings
        .repositories
        .iter()
        .find(|known| origin::is_same(&known.origin, &repository.origin));
    known.unwrap_or(repository).clone()
}

fn configured(name: &str, settings: &Settings) -> Option<Repository> {
    settings
        .repositories
        .iter()
        .find(|repository| repository.name == name)
        .cloned()
}

/// Returns whether any request may name the origin.
pub(crate) fn is_allowed(origin: &str, settings: &Settings) -> bool {
    // A server decodes `%67` to `g` and does not treat the part after `?` as a path, so a comparison cannot see through
    // such spellings.
    let is_disguised =
        origin.contains(['%', '?', '#', '\\']) || origin.split('/').any(|part| part == "..");
    let below = |prefix: &String| {
        // `/srv/git` allows `/srv/git/x`, not `/srv/git-other`.
        origin
            .strip_prefix(prefix.trim_end_matches('/'))
            .is_some_and(|rest| rest.starts_with('/'))
    };
    !is_disguised && settings.allowed_origins.iter().any(below)
}

/// Returns the repository for a path or URL in the request. Only the machine's own user may name
/// any; others need an allowed prefix. A configured repository at that place wins.
fn direct(origin: &str, actor: &Actor, settings: &Settings) -> Option<Repository> {
    // No token map entry can yield this id.
    if actor.id != CLI_LOCAL && !is_allowed(origin, settings) {
        return None;
    }
    let known = settings
        .repositories
        .iter()
        .find(|known| origin::is_same(&known.origin, origin));
    let unknown = || Repository {
        name: origin::name(origin),
        origin: origin.to_owned(),
    };
    Some(known.cloned().unwrap_or_else(unknown))
}
