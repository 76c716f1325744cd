//! Local git workspaces: one working tree per thread, under the data directory.
//!
//! Three walls keep an agent in its tree. Files: every path is resolved by the kernel beneath the tree
//! (`files`). Commands: an environment without the service's own, no rights beyond the user's, and a
//! process group that dies whole (`process`), with the bot if need be (`start`). Git: argv only, hooks and transports that run programs switched off (`git`). A command itself runs
//! with the rights of the service's user; isolation beyond that is the container's.
//! Implements the ports of `ars-bot-ports`, bot supplement section 15.

mod capture;
mod credentials;
mod diff;
mod environment;
mod files;
mod git;
mod local;
mod making;
mod meta;
mod names;
mod process;
mod provider;
mod search;
mod start;

pub use credentials::secrets_of;
pub use environment::ChildEnvironment;
pub use provider::GitWorkspaces;
