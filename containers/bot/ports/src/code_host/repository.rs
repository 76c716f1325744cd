//! Repositories, the service's account, and credentials for git.

use ars_auth::Secret;
use ars_types::{RepoSlug, UnixMillis};

/// The service's own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Login by which people mention it, without `@` and `[bot]`.
    pub login: String,
}

/// A repository on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The current name, which differs from the requested name after a rename.
    pub repository: RepoSlug,
    /// Name of the default branch.
    pub default_branch: String,
    /// The description. Untrusted.
    pub description: String,
    /// Not everyone may read it.
    pub is_private: bool,
    /// Whether it is read-only.
    pub is_archived: bool,
}

/// What git may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    /// Clone and fetch only.
    Read,
    /// Push to the service's branches.
    Write,
}

/// A git credential for a single operation. It belongs in a pipe, never in an argument or an
/// environment.
#[derive(Clone)]
pub struct GitCredential {
    /// User name, which is no secret.
    pub user: &'static str,
    /// Password that git sends.
    pub password: Secret,
    /// When it expires, if known.
    pub expires_at: Option<UnixMillis>,
}
