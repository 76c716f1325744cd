//! A code host's addresses, and names as people write them.

use ars_types::{RefName, RepoSlug};

/// The public host's name.
const PUBLIC: &str = "github.com";
/// Ending that people copy from an address for cloning.
const GIT_SUFFIX: &str = ".git";

/// A code host, identified by web address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    scheme: &'static str,
    authority: String,
}

impl Default for Host {
    /// Returns the public host.
    fn default() -> Self {
        Self {
            scheme: "https",
            authority: PUBLIC.to_owned(),
        }
    }
}

impl Host {
    /// Parses `https://<host>[:<port>]`, the base address of an enterprise's own host. `http` serves tests.
    pub fn parse(base: &str) -> Option<Self> {
        let (scheme, rest) = match base.split_once("://")? {
            ("https", rest) => ("https", rest),
            ("http", rest) => ("http", rest),
            _ => return None,
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest).to_ascii_lowercase();
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':');
        (!authority.is_empty() && authority.bytes().all(is_host))
            .then_some(Self { scheme, authority })
    }

    /// Returns the API's base address.
    pub fn api_base(&self) -> String {
        match self.authority.as_str() {
            PUBLIC => format!("https://api.{PUBLIC}"),
            own => format!("{}://{own}/api/v3", self.scheme),
        }
    }

    /// Returns the address of the second API (GraphQL).
    pub fn graphql_url(&self) -> String {
        match self.authority.as_str() {
            PUBLIC => format!("https://api.{PUBLIC}/graphql"),
            own => format!("{}://{own}/api/graphql", self.scheme),
        }
    }

    /// Returns the origin from which git clones a repository.
    pub fn git_origin(&self, repository: &RepoSlug) -> String {
        format!("{}{GIT_SUFFIX}", self.repository_url(repository))
    }

    /// Returns the repository behind an origin on this host, without a user in the address.
    pub fn repository_of(&self, origin: &str) -> Option<RepoSlug> {
        let (scheme, rest) = origin.split_once("://")?;
        let (authority, path) = rest.split_once('/')?;
        let is_here = scheme == self.scheme && authority.eq_ignore_ascii_case(&self.authority);
        is_here
            .then(|| parse_slug(path.strip_suffix('/').unwrap_or(path)))
            .flatten()
    }

    /// Returns whether to follow a redirect from the host to its storage: not to a weaker scheme.
    pub fn may_lead_to(&self, url: &str) -> bool {
        url.starts_with("https://") || (self.scheme == "http" && url.starts_with("http://"))
    }

    /// Returns a pull request's web address.
    pub fn pull_request_url(&self, repository: &RepoSlug, number: u64) -> String {
        format!("{}/pull/{number}", self.repository_url(repository))
    }

    /// Returns the page on which a person opens a pull request for a branch.
    pub fn compare_url(&self, repository: &RepoSlug, base: &RefName, branch: &RefName) -> String {
        let [base, branch] = [base, branch].map(|name| in_path(name.as_str()));
        format!(
            "{}/compare/{base}...{branch}?expand=1",
            self.repository_url(repository)
        )
    }

    /// Returns whether an address's host part names this host.
    pub(crate) fn is_at(&self, authority: &str) -> bool {
        let named = authority.to_ascii_lowercase();
        let bare = named.strip_prefix("www.").unwrap_or(&named);
        named == self.authority || (self.authority == PUBLIC && bare == PUBLIC)
    }

    /// Returns a repository's web address.
    pub fn repository_url(&self, repository: &RepoSlug) -> String {
        format!("{}://{}/{repository}", self.scheme, self.authority)
    }
}

/// Escapes a name for an address path; slashes stay.
fn in_path(name: &str) -> String {
    let escaped = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(escaped).collect()
}

/// Parses `owner/name` as people write it: in any case, and with or without `.git`.
pub fn parse_slug(text: &str) -> Option<RepoSlug> {
    let lower = text.to_ascii_lowercase();
    RepoSlug::parse(lower.strip_suffix(GIT_SUFFIX).unwrap_or(&lower)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_belong_to_the_host() {
        let (slug, base, branch) = (
            parse_slug("Acme/App.git").unwrap(),
            RefName::parse("main").unwrap(),
            RefName::parse("ars/r1").unwrap(),
        );
        let own = Host::parse("https://Code.Example:8443/").unwrap();
        for (host, api, web) in [
            (
                Host::default(),
                "https://api.github.com",
                "https://github.com",
            ),
            (
                own,
                "https://code.example:8443/api/v3",
                "https://code.example:8443",
            ),
        ] {
            assert_eq!(host.api_base(), api);
            let graph = if api.ends_with("/v3") {
                api.replace("/v3", "/graphql")
            } else {
                format!("{api}/graphql")
            };
            assert_eq!(host.graphql_url(), graph);
            assert_eq!(host.git_origin(&slug), format!("{web}/acme/app.git"));
            assert!(
                host.may_lead_to("https://storage.example/log")
                    && !host.may_lead_to("http://storage.example")
            );
            assert_eq!(
                host.pull_request_url(&slug, 7),
                format!("{web}/acme/app/pull/7")
            );
            let compare = host.compare_url(&slug, &base, &branch);
            assert_eq!(
                compare,
                format!("{web}/acme/app/compare/main...ars/r1?expand=1")
            );
        }
    }

    #[test]
    fn origin_belongs_to_its_own_host() {
        let host = Host::parse("https://code.example:8443").unwrap();
        for origin in [
            "https://code.example:8443/Acme/app.git",
            "https://CODE.example:8443/acme/app/",
        ] {
            assert_eq!(
                host.repository_of(origin).unwrap().as_str(),
                "acme/app",
                "{origin}"
            );
        }
        for other in [
            "http://code.example:8443/acme/app.git",
            "https://code.example/acme/app.git",
            "https://code.example:8443@evil.example/acme/app",
            "https://u:p@code.example:8443/acme/app",
            "https://code.example:8443/acme/app/x",
            "git@code.example:acme/app.git",
            "/acme/app",
        ] {
            assert_eq!(host.repository_of(other), None, "{other}");
        }
    }

    #[test]
    fn base_address_is_a_host_alone() {
        for bad in [
            "",
            "code.example",
            "ftp://code.example",
            "https://",
            "https://a@b",
            "https://a/b",
            "https://a?b",
        ] {
            assert_eq!(Host::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn slug_is_read_as_people_write_it() {
        assert_eq!(
            parse_slug("Acme/My.App.git").unwrap().as_str(),
            "acme/my.app"
        );
        for bad in ["acme", "acme/", "acme/.git", "a/b/c", "acme/../x", "-a/b"] {
            assert_eq!(parse_slug(bad), None, "{bad}");
        }
    }
}
