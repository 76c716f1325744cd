//! What an origin names, however a request spells it (bot supplement section 7.2, row `repo:use`).
//!
//! The gate and memory go by names, git by origins: two spellings of one place must not be two repositories. Not here:
//! which origins a request may name (`plan`). Links on a disk and aliases of a host are not followed.

/// Stands before the name of a repository that no configuration names. With it, it is no slug of a restriction or a
/// grant.
const UNCONFIGURED: &str = "origin:";
/// What git lets stand at the end of a path.
const SUFFIX: &str = ".git";
/// The port that a scheme means without naming it.
const PORTS: [(&str, &str); 4] = [("http", ":80"), ("https", ":443"), ("ssh", ":22"), ("git", ":9418")];

/// Whether both name one place.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    identity(a) == identity(b)
}

/// The name of a repository that no configuration names: different for different places, and without the password that
/// an origin can carry.
pub(super) fn name(origin: &str) -> String {
    format!("{UNCONFIGURED}{}", identity(origin))
}

/// What a restriction calls the place, whatever host or folder it is in: the last two parts of its path, as `owner/name`.
/// Nothing of a place with one part. A copy elsewhere of a closed repository is closed with it: better than open by a
/// host's second name.
pub(super) fn slug(origin: &str) -> Option<String> {
    let place = identity(origin);
    let mut parts = place.rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{name}"))
}

/// What stands for the origin of a repository of which no more is known than its name.
pub(super) fn of_name(name: &str) -> &str {
    name.strip_prefix(UNCONFIGURED).unwrap_or(name)
}

/// The place without its spelling: scheme, user, default port, `.git` and idle slashes. Hosts know no case, and code
/// hosts none in paths; a disk does.
fn identity(origin: &str) -> String {
    match on_host(origin) {
        Some((host, path)) => format!("{}/{}", host.to_lowercase(), bare(&path.to_lowercase())),
        None => {
            let path = origin.strip_prefix("file://").unwrap_or(origin);
            let path = path.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(path);
            let root = if path.starts_with('/') { "/" } else { "" };
            format!("{root}{}", bare(path))
        }
    }
}

/// Host and path of a URL or of git's `user@host:path`; nothing of a path on this machine.
fn on_host(origin: &str) -> Option<(String, &str)> {
    let (authority, path) = match origin.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let port = PORTS.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known));
            let authority = port.and_then(|(_, port)| authority.strip_suffix(port)).unwrap_or(authority);
            (authority, path)
        }
        None => origin.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    // A name may end in the point that stands for the root of all names.
    let host = authority.rsplit('@').next().unwrap_or(authority).trim_end_matches('.');
    Some((host.to_owned(), path))
}

/// A path without what changes nothing of where it leads.
fn bare(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    while let Some(last) = parts.pop() {
        let name = last.trim_end_matches(SUFFIX);
        if !name.is_empty() {
            parts.push(name);
            break;
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_place_is_that_place() {
        for other in [
            "/srv/git/app.git",
            "/srv/git/app/",
            "/srv/git/app.git/",
            "//srv/./git//app",
            "/srv/git/app/.git",
            "file:///srv/git/app",
            "file://localhost/srv/git/app.git",
        ] {
            assert!(is_same("/srv/git/app", other), "{other}");
        }
        for other in [
            "https://code.example/acme/app.git",
            "https://code.example:443/Acme/App/",
            "https://ann:word@Code.example/acme/app",
            "ssh://git@code.example:22/acme/app.git",
            "git@code.example:acme/app.git",
            "https://code.example./acme/app",
            "https://code.example/acme/app.GIT",
        ] {
            assert!(is_same("https://code.example/acme/app", other), "{other}");
        }
    }

    #[test]
    fn different_places_have_different_names_and_none_is_a_slug_or_shows_a_password() {
        let places = [
            "/srv/git/app",
            "/srv/git/App",
            "/srv/other/app",
            "git/app",
            "https://code.example/acme/app",
            "https://code.example:8443/acme/app",
            "https://other.example/acme/app",
            "git@host:app",
        ];
        let names: std::collections::BTreeSet<_> = places.iter().map(|origin| name(origin)).collect();
        assert_eq!(names.len(), places.len(), "{names:?}");
        for name in &names {
            assert!(ars_types::RepoSlug::parse(name.as_str()).is_err(), "{name}");
        }
        assert_eq!(name("https://ann:word@code.example/acme/app.git"), "origin:code.example/acme/app");
    }
}
