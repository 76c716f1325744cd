//! The daemon for resident repository environments.
//!
//! Performs plan steps (`ars_resident::plan`) with real git and real processes, and answers with
//! the types in `ars_resident::daemon`. Two modes: in a container as root with a user per thread,
//! or on a host as a single user with a sandbox that the caller supplies. Not here: decisions about
//! steps, and the engine that requests them.

mod archive;
mod confine;
mod daemon;
mod disk;
mod failure;
pub mod footprint;
mod git;
mod homes;
mod kept;
mod places;
mod process;
mod remove;
mod running;
mod runtime;
pub mod server;
mod settings;
mod step;
mod steps;
mod stop;
mod store;
mod trash;
mod users;
mod walk;

pub use confine::{Confine, Confined, Hold, Place, SharedEnd, SharedSandbox, Started};
pub use daemon::Daemon;
pub use failure::OpenError;
pub use process::has_landlock;
pub use settings::{Mode, READABLE_NAMES, Settings, StoreLinks};
pub use step::Progress;
