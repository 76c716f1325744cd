//! Local git workspaces: a working tree per thread, in a shared folder.
//!
//! Three mechanisms confine an agent to its tree. Files: the kernel resolves every path beneath the
//! tree (`files`). Commands: a clean environment, a sandbox (`crate::sandbox`), and a process group
//! that is killed as a whole (`process`), at the latest with the bot (`start`). Git: arguments
//! only, with hooks and transports that run programs disabled (`git`), in the sandbox when the
//! tree's configuration can name programs.

mod beneath;
mod capture;
mod checkpoint;
mod clean;
mod credentials;
mod diff;
mod disk;
mod environment;
mod evict;
mod files;
mod git;
mod host_access;
mod in_use;
mod local;
mod making;
mod meta;
mod names;
mod process;
mod programs;
mod provider;
mod remote;
mod restored;
mod rights;
mod search;
mod session;
mod start;
mod start_point;
mod tool;
mod trial;

pub use beneath::WORKSPACES;
pub use environment::ChildEnvironment;
pub use evict::{DiskUsage, Evicted};
pub use provider::{Confinement, GitWorkspaces};

pub(crate) use capture::Capture;
pub(crate) use provider::Commands;
pub(crate) use search::compile as compile_pattern;
pub(crate) use session::{Exit, Lent, Session, SessionSettings};
pub(crate) use start::{Input, Keeper, Program, StartedProgram, command, start};
