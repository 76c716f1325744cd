//! A request to the host, with the credential that it needs.

use ars_codehost::parse_slug;
use ars_types::RepoSlug;
use bytes::Bytes;
use http::Method;

/// Maximum size of a JSON response in bytes.
pub(super) const MAX_HOST_ANSWER_BYTES: usize = 8 << 20;

/// Path to the GraphQL API.
pub(super) const GRAPHQL: &str = "/graphql";

/// A request to the code host.
pub(super) struct HostCall {
    pub(super) method: Method,
    /// Path and query below the base address, or a whole address for [`Access::Anonymous`].
    pub(super) target: String,
    pub(super) accept: &'static str,
    pub(super) body: Bytes,
    pub(super) access: Access,
    pub(super) limit: Limit,
    /// Sending it twice has no effect beyond the first.
    pub(super) is_repeatable: bool,
}

/// The credential that a request uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Access {
    /// None, because the address is signed and belongs to another host.
    Anonymous,
    /// The app itself, without a repository.
    App,
    /// The whole installation, which only reads metadata.
    Installation,
    /// A single repository, with limited permissions.
    Repository(RepoSlug, TokenScope),
}

/// Permissions that a repository token has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenScope {
    /// Reads through the API.
    Read,
    /// Pull requests, reviews, checks, issues.
    Write,
    /// The mutation that resolves a thread.
    Resolve,
    /// Git clones and fetches.
    GitRead,
    /// Pushes through git.
    GitWrite,
}

/// A GraphQL operation.
///
/// A mutation that is not idempotent needs a separate kind, which is sent once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Reads, with the query text.
    Query(&'static str),
    /// Writes, and has no further effect when it is repeated.
    IdempotentMutation {
        /// The operation's GraphQL text.
        text: &'static str,
        /// The permissions that it needs.
        scope: TokenScope,
    },
}

impl Operation {
    /// Returns the text and the permissions that it needs.
    pub(super) const fn parts(self) -> (&'static str, TokenScope) {
        match self {
            Self::Query(text) => (text, TokenScope::Read),
            Self::IdempotentMutation { text, scope } => (text, scope),
        }
    }
}

/// How a body's size is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// A larger body is an error.
    Whole(usize),
    /// The start is kept.
    Start(usize),
    /// Keeps the end of a body that is read up to the second limit.
    End(usize, usize),
}

impl HostCall {
    /// Returns whether a GraphQL operation writes.
    pub(super) fn is_mutation(&self) -> bool {
        !matches!(self.access, Access::Repository(_, TokenScope::Read))
    }

    /// Makes a request that reads a repository, with a separate body limit.
    pub(super) fn read(
        repository: &RepoSlug,
        target: String,
        accept: &'static str,
        limit: Limit,
    ) -> Self {
        Self {
            method: Method::GET,
            target,
            accept,
            body: Bytes::new(),
            access: Access::Repository(repository.clone(), TokenScope::Read),
            limit,
            is_repeatable: true,
        }
    }
}

/// Returns whether a path segment consists only of dots. A client resolves it, also encoded, and
/// would leave the repository.
pub(super) fn has_dot_part(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or(target);
    let is_dots = |part: &str| {
        matches!(
            part.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    };
    path.split('/').any(is_dots)
}

/// Returns a request's access by method and path; `None` for a path without a credential.
pub(super) fn access_of(method: &Method, path: &str) -> Option<Access> {
    let mut parts = path.trim_start_matches('/').split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("app"), ..) => Some(Access::App),
        (Some("user" | "installation"), ..) => Some(Access::Installation),
        (Some("repos"), Some(owner), Some(name)) => {
            let scope = if *method == Method::GET {
                TokenScope::Read
            } else {
                TokenScope::Write
            };
            Some(Access::Repository(
                parse_slug(&format!("{owner}/{name}"))?,
                scope,
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_dots_are_found() {
        for (target, expected) in [
            ("/repos/a/b/contents/../x", true),
            ("/repos/a/b/contents/%2E%2e", true),
            ("/repos/a/b/compare/main...x", false),
            ("/repos/a/b/contents/a..b/.x?ref=..", false),
        ] {
            assert_eq!(has_dot_part(target), expected, "{target}");
        }
    }

    #[test]
    fn path_decides_about_the_credential() {
        let slug = RepoSlug::parse("acme/app").unwrap();
        for (method, path, expected) in [
            (Method::GET, "/app", Some(Access::App)),
            (
                Method::GET,
                "/installation/repositories",
                Some(Access::Installation),
            ),
            (
                Method::GET,
                "/repos/acme/app",
                Some(Access::Repository(slug.clone(), TokenScope::Read)),
            ),
            (
                Method::POST,
                "/repos/acme/app/pulls",
                Some(Access::Repository(slug, TokenScope::Write)),
            ),
            (Method::GET, "/repos/acme", None),
            (Method::GET, "/repos/a%2fb/c", None),
            (Method::POST, "/graphql", None),
        ] {
            assert_eq!(access_of(&method, path), expected, "{method} {path}");
        }
    }
}
