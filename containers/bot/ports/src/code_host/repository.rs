//! Repositories, the service's account, and credentials for git.

use ars_auth::Secret;
use ars_types::{RepoSlug, UnixMillis};

/// The service's own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Login by which people mention it, without `@` and `[bot]`.
    pub login: String,
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Its current name, which differs from the requested one after a rename.
    pub repository: RepoSlug,
    /// Default branch.
    pub default_branch: String,
    /// Description. Untrusted.
    pub description: String,
    /// Not everyone may read it.
    pub is_private: bool,
    /// It is read-only.
    pub is_archived: bool,
}

/// Access of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    /// Clone and fetch.
    Read,
    /// Push to branches of the service.
    Write,
}

/// A credential of git for one operation. It belongs in a pipe, never in an argument or an environment.
#[derive(Clone)]
pub struct GitCredential {
    /// User name, which is no secret.
    pub user: &'static str,
    /// Password.
    pub password: Secret,
    /// Its end, if known.
    pub expires_at: Option<UnixMillis>,
}
