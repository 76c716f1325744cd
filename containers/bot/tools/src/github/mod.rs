//! Tools of the code host: reads of repositories, pull requests, checks, issues; writes of issues.
//!
//! The requester's gate of the repository is checked before every call. Texts of the host are marked as untrusted, and
//! texts of the model are neutralised before they are posted. Not here: the calls (the `CodeHost` port's adapter).

mod access;
mod audience;
mod issues;
mod kind;
mod pulls;
mod read_repositories;
mod repositories;
mod shown;
mod tool;
mod writes;

pub use access::{CodeHostAccess, Denial, RepositoryGate};
pub use audience::exposed_source;
pub use kind::GitHubTool;
pub use read_repositories::ReadRepositories;
