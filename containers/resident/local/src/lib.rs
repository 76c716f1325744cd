//! Residents on a single machine: no Worker, no container engine.
//!
//! The engine from `ars-resident-engine` runs on a thread with SQLite files below the data
//! directory. The daemon from `ars-sandboxd` runs in this process in host mode, and commands run in
//! the sandbox that the caller supplies. Archives are files. Not here: decisions (`ars-resident`),
//! routes and state (`ars-resident-engine`).
#![forbid(unsafe_code)]

mod alarm;
mod archives;
mod fleet;
mod handle;
mod host;
mod places;
mod settings;
mod thread;

pub use ars_resident_engine::{HostError, Minted, TokenUse};
pub use handle::{LocalResidents, OpenError};
pub use settings::{Confinements, Origins, Settings, Tokens};
