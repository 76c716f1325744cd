//! An origin's identity, independent of spelling (docs/reference/workspace.md#origins).
//!
//! The gate and memory use names, git uses origins, so two spellings for a place must not be two
//! repositories. Symbolic links and host aliases are not resolved. Not here: the origins a request
//! may name (`repositories`).

/// Prefix for an unconfigured repository's name, so that it matches no restriction or grant slug.
const UNCONFIGURED: &str = "origin:";
/// A path suffix that git ignores.
const SUFFIX: &str = ".git";
/// Each scheme's default port.
const PORTS: [(&str, &str); 4] = [
    ("http", ":80"),
    ("https", ":443"),
    ("ssh", ":22"),
    ("git", ":9418"),
];

/// Returns whether both origins are the same place.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    identity(a) == identity(b)
}

/// Returns an unconfigured repository's name, distinct for each place and without a password.
pub(super) fn name(origin: &str) -> String {
    format!("{UNCONFIGURED}{}", identity(origin))
}

/// Returns the slug that a restriction uses for the place on any host. It is the last two path
/// parts, as `owner/name`, or `None` for a path with a single part. A restricted repository's copy
/// elsewhere is restricted too, which is safer than a bypass by a second host name.
pub(super) fn slug(origin: &str) -> Option<String> {
    let place = identity(origin);
    let mut parts = place.rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{name}"))
}

/// Returns a substitute origin for a repository known only by name.
pub(super) fn of_name(name: &str) -> &str {
    name.strip_prefix(UNCONFIGURED).unwrap_or(name)
}

/// Returns the place without spelling differences: scheme, user, default port, `.git` and redundant
/// slashes. Host names ignore case, as do code host paths. A disk does not.
fn identity(origin: &str) -> String {
    match on_host(origin) {
        Some((host, path)) => format!("{}/{}", host.to_lowercase(), bare(&path.to_lowercase())),
        None => {
            let path = origin.strip_prefix("file://").unwrap_or(origin);
            let path = path
                .strip_prefix("localhost")
                .filter(|rest| rest.starts_with('/'))
                .unwrap_or(path);
            let root = if path.starts_with('/') { "/" } else { "" };
            format!("{root}{}", bare(path))
        }
    }
}

/// Returns host and path from a URL or git's `user@host:path`, or `None` for a local path.
fn on_host(origin: &str) -> Option<(String, &str)> {
    let (authority, path) = match origin.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let port = PORTS
                .iter()
                .find(|(known, _)| scheme.eq_ignore_ascii_case(known));
            let authority = port
                .and_then(|(_, port)| authority.strip_suffix(port))
                .unwrap_or(authority);
            (authority, path)
        }
        None => origin
            .split_once(':')
            .filter(|(host, _)| !host.contains('/'))?,
    };
    // A host name may end with the DNS root's dot.
    let host = authority
        .rsplit('@')
        .next()
        .unwrap_or(authority)
        .trim_end_matches('.');
    Some((host.to_owned(), path))
}

/// Normalizes a path for comparison.
fn bare(path: &str) -> String {
    let mut parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
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
    fn spellings_of_a_place_are_equal() {
        for other in
            "/srv/git/app.git /srv/git/app/ /srv/git/app.git/ //srv/./git//app /srv/git/app/.git \
            file:///srv/git/app file://localhost/srv/git/app.git"
                .split(' ')
        {
            assert!(is_same("/srv/git/app", other), "{other}");
        }
        for other in "https://code.example/acme/app.git https://code.example:443/Acme/App/ \
            https://ann:word@Code.example/acme/app ssh://git@code.example:22/acme/app.git \
            git@code.example:acme/app.git https://code.example./acme/app https://code.example/acme/app.GIT"
            .split(' ')
        {
            assert!(is_same("https://code.example/acme/app", other), "{other}");
        }
    }

    #[test]
    fn names_are_distinct_and_hide_passwords() {
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
        let names: std::collections::BTreeSet<_> =
            places.iter().map(|origin| name(origin)).collect();
        assert_eq!(names.len(), places.len(), "{names:?}");
        for name in &names {
            assert!(ars_types::RepoSlug::parse(name.as_str()).is_err(), "{name}");
        }
        assert_eq!(
            name("https://ann:word@code.example/acme/app.git"),
            "origin:code.example/acme/app"
        );
    }
}
