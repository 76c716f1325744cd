//! Code host tools: read repositories, pull requests, checks, issues; write issues.
//!
//! The requester's repository gate is checked before every call. The host's texts are marked as
//! untrusted, and the model's texts are neutralised before they are posted. Not here: the calls
//! (the `CodeHost` port's adapter).

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
